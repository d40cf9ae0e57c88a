"""A cell or a call under its stack of transforms: the function to compile, and its results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import jax

from jaxscope.analysis.compiles.causes import TRANSFORMS
from jaxscope.capture.forms.block import Block
from jaxscope.capture.forms.call import PlainCall
from jaxscope.capture.inputs.arguments import Arguments, named
from jaxscope.capture.jaxpr.untransformed import Base
from jaxscope.capture.options.stack import (
    GradOptions,
    PmapOptions,
    Stack,
    TransformError,
    VmapOptions,
    differentiates,
    is_plain,
    titles,
    written,
)
from jaxscope.capture.program.compile import Request
from jaxscope.capture.transforms import derivatives, table
from jaxscope.capture.transforms.shapes import Level


class Work:
    """One run of a block or of a call: what is traced, and how its results are read."""

    def __init__(
        self,
        subject: Block | PlainCall,
        stack: Stack,
        where: str,
        noun: str,
        device: Any = None,
    ) -> None:
        """Raises TransformError for options that do not fit the inputs.

        `where` begins such a sentence (`Line 1: `), `noun` is `this cell` or `this call`; `device`
        is the one that was asked for.
        """
        if device is not None and any(segment.name == "pmap" for segment in stack):
            raise TransformError(
                f"{where}--device names one device, and pmap runs on several: leave it out, or say "
                "how many with --devices."
            )
        self._subject = subject
        self.stack = stack
        table.check(stack, where)
        self.levels = [] if is_plain(stack) else table.levels(stack, self._level(where, noun))
        self._results = 0
        self._tree: Any = None

    def request(self, name: str, args: tuple[Any, ...], file: str, line: int) -> Request:
        """The request to capture, for these packed arguments; errors name this file and line."""
        arguments = self._subject.inputs.arguments

        def as_user(function: Callable[..., Any]) -> Callable[..., Any]:
            return named(function, name, list(arguments.packed), file, line)

        base = None
        program = self._subject.program
        if not is_plain(self.stack):
            base = Base(self._traced, arguments.paths, as_user)
            stands = self._subject.value_line
            program = self._flat(table.transformed(self.stack, base, self.levels, stands))
        jitted = jax.jit(as_user(program), donate_argnums=arguments.donated)
        paths = arguments.paths
        statics = {value.name: value.aval for value in self._subject.inputs.static_values()}
        # Another stack makes another program of the same cell.
        statics[TRANSFORMS] = written(self.stack)
        return Request(name, titles(self.stack), jitted, args, {}, paths, self.stack, base, statics)

    def arguments(self) -> Arguments:
        """The arguments, those that are mapped with a word on their axes."""
        arguments = self._subject.inputs.arguments
        if is_plain(self.stack):
            return arguments.with_shared()
        said: list[list[str]] = [[] for _ in arguments.slots]
        for segment, level in zip(self.stack, self.levels, strict=False):
            if isinstance(segment.options, VmapOptions | PmapOptions):
                axes = level.axes(segment.options.axes, segment.name)
                for slot, axis in enumerate(axes):
                    whole = f"whole under {segment.name}"
                    said[slot].append(
                        whole if axis is None else f"{segment.name} along axis {axis}"
                    )
        slots = [
            replace(slot, reason=", ".join([slot.reason, *words]))
            for slot, words in zip(arguments.slots, said, strict=True)
        ]
        return Arguments(arguments.packed, tuple(slots))

    def notes(self) -> tuple[str, ...]:
        """What to know of the transforms that were applied."""
        found = [
            derivatives.conjugate_note(segment.options, level)
            for segment, level in zip(self.stack, self.levels, strict=False)
            if isinstance(segment.options, GradOptions)
        ]
        return tuple([note for note in dict.fromkeys(found) if note])

    def labels(self) -> tuple[str, ...]:
        """Where each result goes: `y`, `params['w']`, `Out`."""
        labels = self._subject.outcome.labels
        if not differentiates(self.stack):
            return labels
        flat, _ = jax.tree_util.tree_flatten_with_path(self._unflat(range(self._tree.num_leaves)))
        return (*labels, *(f"Out{jax.tree_util.keystr(path)}" for path, _ in flat))

    def split(self, results: Sequence[Any]) -> tuple[Sequence[Any], Any]:
        """The results that the cell binds, and the derivative if there is one."""
        if not differentiates(self.stack):
            return results, None
        return results[: self._results], self._unflat(results[self._results :])

    def _level(self, where: str, noun: str) -> Level:
        return Level.outermost(self._subject.inputs, where, noun, self._subject.absent)

    def _traced(self, *packed: Any) -> tuple[Any, list[Any]]:
        results = self._subject.program(*packed)
        return self._subject.value, results

    def _flat(self, made: table.Program) -> Callable[..., list[Any]]:
        """The program as a function that gives a list: what the cell binds, then the value."""

        def program(*packed: Any) -> list[Any]:
            value, results = made(*packed)
            self._results = len(results)
            leaves, self._tree = jax.tree_util.tree_flatten(value)
            return [*results, *leaves]

        return program

    def _unflat(self, leaves: Sequence[Any]) -> Any:
        return jax.tree_util.tree_unflatten(self._tree, leaves)
