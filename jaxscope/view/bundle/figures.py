"""Figures by line and by instruction of a program, as the viewer's JSON."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from typing import Any

from jaxscope import words
from jaxscope.analysis.cost import counted
from jaxscope.analysis.gradient.residual_rows import residuals_by_line
from jaxscope.analysis.hlo import real_instructions
from jaxscope.analysis.jaxpr.autodiff_phase import BACKWARD
from jaxscope.analysis.links.elimination import reasons
from jaxscope.analysis.links.line_figures import (
    LineFigures,
    all_figures,
    differentiates,
    stage_of,
    unattributed,
)
from jaxscope.analysis.profile.bounds import line_verdict
from jaxscope.analysis.profile.shares import (
    LineShare,
    cell_shares,
    line_shares,
    lines_of,
    op_shares,
)
from jaxscope.model import Program, Stage, StageKind
from jaxscope.model.profile import CellProfile, Profile
from jaxscope.view.profile.hottest import longest_source
from jaxscope.view.profile.instructions import bounds_of

Json = dict[str, Any]

_LAYOUT = re.compile(r"\{[^{}]*\}|/\*.*?\*/")
_LONGEST_SHAPE = 120


def hottest_source(program: Program, sources: int, cell: CellProfile | None = None) -> int:
    """The source with the line that takes longest; the first where nothing was profiled.

    A line of a profiled cell has the time of all that it calls: then a called source comes first.
    """
    longest = [
        max((row.share for row in line_shares(program, source).values()), default=0.0)
        for source in range(sources)
    ]
    if cell is not None and any(longest[1:]):
        longest[0] = 0.0
    return longest_source(longest)


def by_line(program: Program, sources: int, cell: CellProfile | None = None) -> list[Json]:
    """For each of the record's sources: line → equations, instructions, FLOPs, time.

    `cell` is the profile of the cell as it ran: then the times of the first source come from it.
    """
    phases = differentiates(program)
    found: list[Json] = []
    saved = {(row.source, row.line): row.bytes for row in residuals_by_line(program)}
    for source, figures in enumerate(all_figures(program, sources)):
        of_cell = cell if source == 0 else None
        shares = line_shares(program, source) if of_cell is None else cell_shares(of_cell)
        more = _profiled(program, source) if of_cell is None and shares else {}
        rows: Json = {}
        for line in sorted(figures.keys() | shares.keys()):
            row = _line(figures.get(line, LineFigures()), shares.get(line), phases)
            if size := saved.get((source, line)):
                row["residuals"] = size
            if line in more and "time" in row:
                backward, limit = more[line]
                row["time"] |= {"backward": finite(backward)} if backward else {}
                row |= {"limit": limit} if limit else {}
            rows[str(line)] = row
        found.append(rows)
    return found


def _profiled(program: Program, source: int) -> dict[int, tuple[float, str]]:
    """For each line of a profiled program: seconds of its backward pass, and its limit."""
    profile = program.profile
    if not isinstance(profile, Profile):
        return {}
    times = {op.name: op.seconds for op in profile.ops if not op.overhead}
    bounds = bounds_of(program, profile)
    seconds = defaultdict[int, float](float)
    ops = defaultdict[int, dict[str, None]](dict)
    for row in lines_of(profile, source):
        ops[row.place.line] |= dict.fromkeys(row.ops)
        if row.place.phase in BACKWARD:
            seconds[row.place.line] += row.seconds
    return {
        line: (seconds[line], str(line_verdict(names, times, bounds)))
        for line, names in ops.items()
    }


def rest(program: Program) -> Json:
    """The part of a program that is of no line of the first source; empty without a compiled
    text."""
    left = unattributed(program)
    if left is None:
        return {}
    row: Json = {
        "flops": finite(left.flops.unattributed),
        "total": finite(left.flops.total),
        "bytes": finite(left.bytes.unattributed),
        "lines": list(left.flops.lines),
    }
    profile = program.profile
    if isinstance(profile, Profile) and not profile.unreliable and profile.whole_s > 0:
        seconds = profile.covered_s - sum(
            row.seconds for row in profile.lines if row.place.source == 0
        )
        row["share"] = rounded(max(seconds, 0.0) / profile.whole_s)
    return {"unattributed": row}


def of_cell(cell: CellProfile) -> Json:
    """The times of a cell that ran as plain Python, for a record without programs: by line."""
    return {str(line): {"time": _time(share)} for line, share in sorted(cell_shares(cell).items())}


def _line(figures: LineFigures, share: LineShare | None, phases: bool) -> Json:
    row: Json = {
        "equations": figures.equations,
        "instructions": figures.instructions,
        # Nothing, where all that is known is that it may be none.
        "flops": finite(figures.flops) if figures.flops or not figures.at_least else None,
        "exact": figures.exact or figures.knows_flops,
    }
    if figures.at_least and not figures.knows_flops:
        row["at_least"] = True
    for name, bracket in (("flops", figures.flops_bracket), ("bytes", figures.bytes_bracket)):
        if bracket is not None and bracket.wide:
            row[f"{name}_bracket"] = {"low": finite(bracket.low), "high": finite(bracket.high)}
    if figures.bytes is not None:
        row["bytes"] = finite(figures.bytes)
    if phases and (figures.backward.equations or figures.backward.flops):
        backward = figures.backward
        row["backward"] = {"equations": backward.equations, "flops": finite(backward.flops)}
    if share is not None:
        row["time"] = _time(share)
    return row


def _time(share: LineShare) -> Json:
    return {
        "seconds": finite(share.seconds),
        "share": rounded(share.share),
        "low": finite(share.low),
        "high": finite(share.high),
        "estimate": share.is_estimate,
    }


def by_instruction(program: Program, stage: Stage | None = None) -> Json:
    """Line of the optimized HLO → cost and time of its instruction.

    `stage` is that text, if it is not yet among the program's. A fusion has the work of the
    instructions in it; those have their work too, but no time.
    """
    stage = stage or stage_of(program, StageKind.OPTIMIZED_HLO)
    known = counted(stage.text) if stage is not None else None
    if known is None:
        return {}
    module, cost = known
    costs = {row.name: row for row in (*cost.fused, *cost.by_instruction)}
    shares = op_shares(program)
    found: Json = {}
    for instruction in real_instructions(module):
        own, share = costs.get(instruction.name), shares.get(instruction.name)
        row: Json = {
            # Without layouts, and cut where a tuple is long.
            "shape": words.cut(_LAYOUT.sub("", instruction.shape.text), _LONGEST_SHAPE),
            "flops": 0.0 if own is None else finite(own.flops),
            "bytes": 0.0 if own is None else finite(own.bytes_accessed),
            "times": 1.0 if own is None else finite(own.times),
        }
        if share is not None:
            row |= {"seconds": finite(share.seconds), "share": rounded(share.share)}
        found[str(instruction.line)] = row
    return found


def lost(program: Program) -> Json:
    """Equations without an instruction of their own: those `eliminated`, with the reason, and those
    `merged`, whose work may be part of a different instruction."""
    found: Json = {"eliminated": [], "merged": []}
    for one in reasons(program):
        row = {"equation": one.equation, "reason": one.reason}
        found["eliminated" if one.proven else "merged"].append(row)
    return found


def finite(number: float | None) -> float | None:
    """The number for JSON: None if it is not finite, an integer if it is whole."""
    if number is None or not math.isfinite(number):
        return None
    return int(number) if number == int(number) else float(f"{number:.6g}")


def rounded(share: float) -> float:
    return round(share, 4) if math.isfinite(share) else 0.0


def line_count(text: str) -> int:
    """The number of lines of a text, as the viewer counts them."""
    return text.count("\n") + (not text.endswith("\n") and bool(text))
