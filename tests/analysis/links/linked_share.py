"""How many instructions of a program have links."""

from __future__ import annotations

from jaxscope.analysis.hlo import HloModule, real_instructions
from jaxscope.model import Stage


def linked_share(module: HloModule, stage: Stage) -> tuple[int, int, int]:
    """The number of real instructions linked exactly, linked approximately, and in all.

    The module must have been parsed from the stage's own text.
    """
    anchors = {anchor.line: anchor for anchor in stage.anchors}
    exact = inexact = total = 0
    for instruction in real_instructions(module):
        total += 1
        anchor = anchors.get(instruction.line)
        if anchor is not None:
            exact += anchor.exact
            inexact += not anchor.exact
    return exact, inexact, total
