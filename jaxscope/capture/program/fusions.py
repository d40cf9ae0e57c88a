"""The values that XLA did not fuse, from a compilation with the log of its fusion pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from jaxscope.analysis.hlo import Instruction
from jaxscope.analysis.links.attribution import Equations
from jaxscope.analysis.passes.remarks import fusion_remarks
from jaxscope.capture.program.passes import fusion_dump
from jaxscope.model import Unavailable
from jaxscope.model.compiler.remarks import FusionRemark

if TYPE_CHECKING:
    from jaxscope.capture.program.stages import Handles


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
    found = fusion_dump(handles.lowered, handles.compiled)
    if isinstance(found, Unavailable):
        return found
    after, equations = handles.linked(found.text)
    known = handles.tagged.equations

    def lines(instruction: Instruction) -> tuple[int, ...]:
        ours = map(known.__getitem__, equations[instruction.name])
        spans = [e.span for e in ours if any(f.source == 0 for f in e.frames)]
        return tuple(sorted({span.line for span in spans if span is not None}))

    return FusionRemarks(fusion_remarks(after, found.log, lines), equations, found.seconds)
