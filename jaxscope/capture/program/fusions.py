"""The values that XLA did not fuse, from a compilation with the log of its fusion pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from jaxscope.analysis.hlo import Instruction
from jaxscope.analysis.links.attribution import Equations
from jaxscope.analysis.passes.remarks import fusion_remarks
from jaxscope.capture.program.passes import FusionDump, fusion_dump
from jaxscope.model import Unavailable
from jaxscope.model.compiler.remarks import FusionRemark

if TYPE_CHECKING:
    from jaxscope.capture.program.stages import Handles

MOST_LOGGED = 500
"""Instructions of the optimized program up to which XLA's log is read; with 800 it takes 7 s more
than the compilation. Of larger ones the passes are read, which costs no more."""


@dataclass(frozen=True, slots=True)
class FusionRemarks:
    """The values that XLA did not fuse, the largest first."""

    remarks: tuple[FusionRemark, ...]
    equations: Equations
    """Of the instructions after the fusion pass, where their links are exact."""
    seconds: float
    """Duration of the compilation that it took."""


def read_remarks(handles: Handles) -> FusionRemarks | Unavailable:
    """Compile the program once more, and read why its values stayed apart."""
    module = handles.module()
    if isinstance(module, Unavailable):
        return module
    found = _after_fusion(handles, logged=len(module.by_name) <= MOST_LOGGED)
    if isinstance(found, Unavailable):
        return found
    after, equations = handles.linked(found.text)
    known = handles.tagged.equations

    def lines(instruction: Instruction) -> tuple[int, ...]:
        ours = map(known.__getitem__, equations[instruction.name])
        spans = [e.span for e in ours if any(f.source == 0 for f in e.frames)]
        return tuple(sorted({span.line for span in spans if span is not None}))

    return FusionRemarks(fusion_remarks(after, found.log, lines), equations, found.seconds)


def _after_fusion(handles: Handles, *, logged: bool) -> FusionDump | Unavailable:
    if logged:
        return fusion_dump(handles.lowered, handles.compiled)
    passes = handles.passes()
    if isinstance(passes, Unavailable):
        return passes
    numbers = [one.number for one in passes.passes if one.name == "fusion"]
    if not numbers:
        return Unavailable("XLA fused nothing")
    return FusionDump(passes.raw(numbers[-1]), None, passes.seconds)
