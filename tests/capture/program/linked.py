"""Capture of a whole program for tests, and the check of its links against XLA's own frames."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax

from jaxscope.analysis.hlo import parse_module, real_instructions
from jaxscope.capture.jaxpr.tags import Tagged, tag
from jaxscope.capture.program.input_reader import InputReader
from jaxscope.capture.program.stages import Handles
from jaxscope.capture.source.sources import SourceFiles
from jaxscope.model import Source, SourceKind, StageKind
from tests.analysis.links.linked_share import linked_share


class _Written:
    """A compiled program that writes a text of our own."""

    def __init__(self, compiled: Any, text: str) -> None:
        self._compiled, self._text = compiled, text

    def as_text(self) -> str:
        return self._text

    def __getattr__(self, name: str) -> Any:
        return getattr(self._compiled, name)


@dataclass
class Linked:
    handles: Handles
    tagged: Tagged
    sources: SourceFiles
    compiled: Any

    def with_text(self, text: str, received: InputReader | None = None) -> Handles:
        """The same program, as if XLA had written this text of it."""
        given, compiled = self.handles, _Written(self.compiled, text)
        return Handles(given.traced, given.lowered, compiled, self.tagged, self.sources, received)

    @property
    def share(self) -> tuple[int, int, int]:
        """Real instructions linked exactly, inexactly, and in all."""
        module = self.handles.module()
        return linked_share(module, self.handles.text(StageKind.OPTIMIZED_HLO))

    def wrong(self) -> list[str]:
        """Exact links that XLA's own stack frames contradict.

        The frames of an instruction that lie in the program's file have to be frames of the
        equations that it is linked to. Frames outside were on the stack when the test traced.
        """
        module = parse_module(self.compiled.as_text())
        stage = self.handles.text(StageKind.OPTIMIZED_HLO)
        anchors = {anchor.line: anchor for anchor in stage.anchors}
        shown = {i.name: i for i in self.handles.module().instructions()}
        file = self.sources.all()[0].file
        problems: list[str] = []
        for instruction in real_instructions(module):
            anchor = anchors.get(shown[instruction.name].line)
            if anchor is None or not anchor.exact:
                continue
            lines = {f.line for f in module.frames(instruction) if f.file == file}
            known = {
                f.span.line
                for i in anchor.equations
                for f in self.tagged.equations[i].frames
                if f.file == file
            }
            if not lines <= known:
                problems.append(f"{instruction.name}: {sorted(lines)} not in {sorted(known)}")
        return problems


def link(function: Any, args: tuple[Any, ...], **options: Any) -> Linked:
    """Trace, tag, lower and compile; the file that the function stands in is source 0."""
    code = _code(function)
    with open(code.co_filename) as opened:
        text = opened.read()
    sources = SourceFiles(Source("cell", code.co_filename, SourceKind.CELL, text))
    traced = jax.jit(function, **options).trace(*args)
    tagged = tag(traced, sources)
    lowered = traced.lower()
    compiled = lowered.compile()
    return Linked(Handles(traced, lowered, compiled, tagged, sources), tagged, sources, compiled)


def _code(function: Any) -> Any:
    """The code of the user's function, under JAX's wrappers."""
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    return function.__code__
