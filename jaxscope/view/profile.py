"""Time by line and by instruction, with how sure it is: what a profile shows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

from jaxscope.analysis.by_line import counted, stage_of
from jaxscope.analysis.cost import InstructionCost
from jaxscope.analysis.profile.bounds import Bound, bound
from jaxscope.analysis.profile.shares import WIDE, of_lines
from jaxscope.analysis.profile.stacks import by_equation, by_instruction_and_equation, stack
from jaxscope.model import Phase, Program, Record, Roofline, StageKind, Unavailable
from jaxscope.model.profile import LineTime, Place, Profile
from jaxscope.view import units
from jaxscope.view.chapter import Chapter, Part
from jaxscope.view.heat import Heat, heat
from jaxscope.view.icicle import svg, tree
from jaxscope.view.rows import Table
from jaxscope.view.visible import excerpt, split_lines

_KEY, _TITLE = "lines", "Time by line"
_MOST_OPS = 40
_MOST_EQUATIONS = 20
_SMALL = 0.03
"""Share below which a line is small, and not ranked."""
_CROSSING = 0.05

_OFFER = (
    "`--line-mode` measures each line by itself, in a build that keeps lines apart: one more "
    "compile."
)
_DIRECTIONS = {
    Phase.PRIMAL: "",
    Phase.FORWARD: "forward",
    Phase.BACKWARD: "backward",
    Phase.RECOMPUTE: "recomputed",
}


def chapter(record: Record, program: Program) -> Chapter | None:
    """The profile of a program; None if it was not profiled."""
    found = program.profile
    if found is None:
        return None
    if isinstance(found, Unavailable):
        return Chapter(_KEY, _TITLE, (f"There is no profile: {found.reason}.",))
    if found.distrust:
        parts = (_by_op(program, found),) if found.ops else ()
        lead = (found.distrust, *_guard(found))
        if program.line_mode is not None:
            lead = (*lead, *_apart(program, found))
            parts = (*_lines_apart(record, program, found), *parts)
        return Chapter(_KEY, _TITLE, lead, parts)
    lead = (
        _first(record, found),
        _quality(found),
        *_joint(record, found),
        *_apart(program, found),
        *_guard(found),
        *found.doubts,
    )
    sources = [i for i in range(len(record.sources)) if any(_of(found, i))]
    parts = (
        *(_source(record, found, i) for i in sources),
        *_lines_apart(record, program, found),
        _by_line(record, program, found),
        *_by_stack(program, found),
        _by_op(program, found),
        _rest(found),
    )
    return Chapter(_KEY, _TITLE, lead, parts)


def _guard(profile: Profile) -> tuple[str, ...]:
    return (profile.guard,) if profile.guard else ()


def _of(profile: Profile, source: int) -> Iterable[LineTime]:
    return (line for line in profile.lines if line.place.source == source)


def _first(record: Record, profile: Profile) -> str:
    """The line that matters most, in words."""
    source = next((i for i in range(len(record.sources)) if any(_of(profile, i))), 0)
    totals = of_lines(profile, source)
    call = f"of a call of {units.seconds(profile.call_s)}"
    if not totals:
        whose = "no line of yours" if not record.sources else f"no line of {record.sources[0].name}"
        if not profile.ops:
            return f"{whose.capitalize()} took time {call}."
        longest = profile.ops[0]
        share = units.percent(longest.seconds / profile.call_s)
        return (
            f"Instruction {longest.name} takes {units.seconds(longest.seconds)} ({share}) {call}; "
            f"it comes from {whose}."
        )
    if profile.joint and profile.joint[0].seconds > 0.5 * profile.covered_s:
        joint = profile.joint[0]
        lines = _lines_of(joint.places)
        if "," in lines or "to" in lines:
            return (
                f"Lines {lines} are fused together: {units.seconds(joint.seconds)} "
                f"({units.percent(joint.seconds / profile.call_s)}) {call}."
            )
    line, (_, seconds, *_) = max(totals.items(), key=lambda item: item[1].seconds)
    text = _code(record, source, line)
    share = units.percent(seconds / profile.call_s)
    where = f"of {record.sources[source].name} " if source else ""
    return f"Line {line} {where}takes {units.seconds(seconds)} ({share}) {call}: `{text}`"


def _quality(profile: Profile) -> str:
    calls = sum(len(session.traced) for session in profile.sessions)
    parts = [
        f"{units.percent(profile.coverage)} of a call inside instructions",
        f"dispatch {units.seconds(profile.dispatch_s)}",
        f"gaps {units.seconds(profile.gaps_s)}",
        f"return {units.seconds(profile.return_s)}",
        f"no known line {units.percent(profile.unattributed_s / profile.covered_s)}",
        f"by likeness {units.percent(profile.inferred_s / profile.covered_s)}",
        f"overlap {units.percent(profile.concurrent_s / profile.covered_s)}",
    ]
    if not math.isnan(profile.ratio):
        parts.append(f"traced ÷ untraced {profile.ratio:.2f}")
    sessions = units.count(len(profile.sessions), "session")
    parts.append(f"{units.count(calls, 'call')} in {sessions}")
    return " · ".join(parts)


def _joint(record: Record, profile: Profile) -> tuple[str, ...]:
    """What is measured of lines that are fused together comes before any split of it."""
    rows = [
        row
        for row in profile.joint
        if row.seconds > _CROSSING * profile.covered_s and len({p[:2] for p in row.places}) > 1
    ]
    found = tuple(
        f"Lines {_lines_of(row.places)}, fused together: {units.seconds(row.seconds)} "
        f"({units.percent(row.seconds / profile.call_s)}). What each of them took is an estimate "
        f"({profile.weights}); the bracket holds the truth."
        for row in rows[:3]
    )
    folded = tuple(
        f"Line {row.place.line} ({', '.join(row.primitives)}) has no instruction of its own: XLA "
        f"folded it into {_into(row.into)}."
        for row in profile.folded[:5]
    )
    return (*found, *folded)


def _apart(program: Program, profile: Profile) -> tuple[str, ...]:
    """What line mode said, or that there is such a thing where it would help."""
    apart = program.line_mode
    if apart is None:
        fused = profile.crossing_s > _CROSSING * profile.covered_s
        return (_OFFER,) if fused else ()
    if isinstance(apart, Unavailable):
        return (f"There is no line mode: {apart.reason}.",)
    if apart.distrust:
        return (f"Line mode: {apart.distrust}",)
    usual = _usual_s(apart, profile)
    if math.isnan(usual):
        return ()
    saved = apart.untraced_s - usual
    if saved <= 0:
        apart_s = units.seconds(apart.untraced_s)
        return (
            (
                f"With its lines kept apart the program takes no longer, {apart_s}: fusion across "
                "lines saves nothing."
            ),
        )
    times = apart.untraced_s / usual
    what = f"fusion across lines saves {units.seconds(saved)}"
    return (
        (
            f"With its lines kept apart the program takes {times:.2f} times as long, "
            f"{units.seconds(apart.untraced_s)}: {what}."
        ),
    )


def _usual_s(apart: Profile, profile: Profile) -> float:
    """Seconds of a call of the program as it is, measured as those with its lines apart were."""
    return profile.untraced_s if apart.usual_s is None else apart.usual_s


def _lines_apart(record: Record, program: Program, profile: Profile) -> tuple[Part, ...]:
    apart = program.line_mode
    if not isinstance(apart, Profile) or apart.distrust:
        return ()
    sources = [i for i in range(len(record.sources)) if any(_of(apart, i))]
    parts = tuple(
        replace(
            _source(record, apart, i),
            caption=f"{record.sources[i].name}: cost of each line if lines were not fused",
        )
        for i in sources
    )
    usual = _usual_s(apart, profile)
    if math.isnan(usual):
        return parts
    saved = apart.untraced_s - usual
    rows = (
        ("lines kept apart", units.seconds(apart.untraced_s), "a call of that build"),
        ("as XLA fuses them", units.seconds(usual), "a call of the program as it is"),
        (
            "what fusion saves",
            units.seconds(saved) if saved > 0 else "nothing",
            f"{units.percent(saved / apart.untraced_s)} of the build with its lines apart"
            if saved > 0
            else "the program as it is takes as long",
        ),
    )
    table = Table(("build", "time", "meaning"), rows, right=(1,))
    return (*parts, Part("What fusion across lines saves", table, brief=True))


def _into(lines: Sequence[int]) -> str:
    if not lines:
        return "others"
    return f"line{'s' if len(lines) > 1 else ''} {', '.join(map(str, lines))}"


def _lines_of(places: Sequence[Place]) -> str:
    """`2 to 6`, `3, 7 and 9`."""
    lines = sorted({place.line for place in places})
    if len(lines) > 2 and lines[-1] - lines[0] == len(lines) - 1:
        return f"{lines[0]} to {lines[-1]}"
    if len(lines) == 1:
        return str(lines[0])
    return f"{', '.join(map(str, lines[:-1]))} and {lines[-1]}"


def _code(record: Record, source: int, line: int) -> str:
    lines = split_lines(record.sources[source].text)
    return excerpt(lines[line - 1]) if 0 < line <= len(lines) else ""


def _source(record: Record, profile: Profile, source: int) -> Part:
    """The code with its heat."""
    rows: dict[int, Heat] = {}
    for line, row in of_lines(profile, source).items():
        mark = "≈" if row.is_estimate else ""
        words = (f"{mark}{units.seconds(row.seconds)}", units.percent(row.share))
        rows[line] = Heat(words, row.share)
    for lost in profile.folded:
        if lost.place.source == source and lost.place.line not in rows:
            into = ", ".join(map(str, lost.into)) or "others"
            rows[lost.place.line] = Heat((f"in {into}", ""), 0.0)
    html, drawing = heat(record.sources[source].text, rows, ("", ""))
    name = record.sources[source].name
    first = next((i for i in range(len(record.sources)) if any(_of(profile, i))), 0)
    return Part(f"{name}: time of each line", None, html, drawing, brief=source == first)


def _by_line(record: Record, program: Program, profile: Profile) -> Part:
    bounds = bounds_of(program, profile)
    rows: list[tuple[str, ...]] = []
    several = len(record.sources) > 1
    for row in sorted(profile.lines, key=lambda row: -row.seconds):
        name = record.sources[row.place.source].name
        share = row.seconds / profile.call_s if profile.call_s else math.nan
        bracket = f"{units.seconds(row.low_s)} … {units.seconds(row.high_s)}" if row.shared else ""
        low, high = row.range_s
        spread = "" if math.isnan(low) else f"{units.seconds(low)} … {units.seconds(high)}"
        inferred = f"≈ {units.percent(row.inferred_s / row.seconds)}" if row.inferred_s else ""
        rows.append(
            (
                f"{name} {row.place.line}" if several else str(row.place.line),
                _DIRECTIONS.get(row.place.phase, ""),
                ("≈ " if row.high_s - row.low_s > WIDE * row.seconds else "")
                + units.seconds(row.seconds),
                "small" if share < _SMALL else units.percent(share),
                bracket,
                spread if len(profile.sessions) > 1 else "",
                inferred,
                next((b.verdict for op in row.ops if (b := bounds.get(op)) and b.verdict), ""),
                _code(record, row.place.source, row.place.line),
            )
        )
    heads = (
        "line",
        "direction",
        "time",
        "share",
        "between",
        "sessions",
        "by likeness",
        "limit",
        "code",
    )
    return Part("Lines, the longest first", Table(heads, tuple(rows), right=(2, 3)))


def _by_stack(program: Program, profile: Profile) -> tuple[Part, ...]:
    """From Python's frames down to the instruction; nothing where the text was not fetched."""
    times = times_of(program, profile)
    if not times:
        return ()
    root = stack(program, times, program.title)
    rows = tuple(
        (
            f"`{program.equations[number].primitive}`" if number is not None else "no equation",
            _DIRECTIONS.get(program.equations[number].phase, "") if number is not None else "",
            units.seconds(seconds),
            units.percent(seconds / profile.call_s) if profile.call_s else "",
            ", ".join(program.equations[number].outputs[:2]) if number is not None else "",
            _frame(program, number),
        )
        for number, seconds in list(by_equation(times).items())[:_MOST_EQUATIONS]
    )
    heads = ("equation", "direction", "time", "share", "makes", "at")
    return (
        Part("By call stack", None, svg(root), tree(root)),
        Part("Equations, the longest first", Table(heads, rows, right=(2, 3))),
    )


def times_of(program: Program, profile: Profile) -> dict[tuple[str, int | None], float]:
    """Seconds by instruction and equation; empty without the optimised HLO."""
    stage = stage_of(program, StageKind.OPTIMIZED_HLO)
    known = counted(stage.text) if stage is not None else None
    if stage is None or known is None or not program.equations:
        return {}
    return by_instruction_and_equation(program, stage, known[0], profile)


def _frame(program: Program, number: int | None) -> str:
    frames = program.equations[number].frames if number is not None else ()
    return f"{frames[0].function} line {frames[0].span.line}" if frames else ""


def _costs(program: Program) -> dict[str, InstructionCost]:
    stage = stage_of(program, StageKind.OPTIMIZED_HLO)
    known = counted(stage.text) if stage is not None else None
    return {row.name: row for row in known[1].by_instruction} if known is not None else {}


def bounds_of(program: Program, profile: Profile) -> dict[str, Bound]:
    """Each instruction against the roofs of the device, as far as they are known."""
    peaks = program.roofline if isinstance(program.roofline, Roofline) else None
    costs = _costs(program)
    return {op.name: bound(op, costs.get(op.name), peaks) for op in profile.ops if not op.overhead}


def _by_op(program: Program, profile: Profile) -> Part:
    bounds = bounds_of(program, profile)
    rows: list[tuple[str, ...]] = []
    for row in profile.ops[:_MOST_OPS]:
        found = None if row.overhead else bounds.get(row.name)
        rows.append(
            (
                f"`{row.name}`" + (" overhead" if row.overhead else ""),
                row.opcode,
                units.seconds(row.seconds),
                units.percent(row.seconds / profile.call_s) if profile.call_s else "",
                units.seconds(row.cpu_s),
                units.significant(row.times),
                "" if found is None or math.isnan(found.flops) else units.flop_rate(found.flops),
                "" if found is None or math.isnan(found.bytes) else units.byte_rate(found.bytes),
                "" if found is None else _limit(found),
            )
        )
    heads = (
        "instruction",
        "operation",
        "time",
        "share",
        "CPU time",
        "runs",
        "FLOP/s",
        "bytes/s",
        "limit",
    )
    more = len(profile.ops) - _MOST_OPS
    caption = "Instructions, the longest first"
    if more > 0:
        caption += f" ({units.count(more, 'shorter one')} left out)"
    return Part(caption, Table(heads, tuple(rows), right=(2, 3, 4, 5, 6, 7)))


def _limit(found: Bound) -> str:
    """`memory-bound, 73 % of the roof`; above the roof the operands came from a cache."""
    share = max(found.compute, found.memory)
    if not found.verdict or math.isnan(share):
        return found.verdict
    if found.verdict == "memory-bound" and share > 1:
        return "memory-bound, above the roof: cache"
    return f"{found.verdict}, {units.percent(share)} of the roof"


def _rest(profile: Profile) -> Part:
    rows = (
        ("dispatch", profile.dispatch_s, "from the call to its first instruction"),
        ("gaps", profile.gaps_s, "between instructions"),
        ("loop overhead", profile.overhead_s, "a loop was open and nothing inside it ran"),
        ("return", profile.return_s, "from the last instruction until the result was there"),
        ("no known line", profile.unattributed_s, "instructions that no line is known of"),
    )
    call = profile.call_s or math.nan
    table = Table(
        ("what", "time", "share", "meaning"),
        tuple((w, units.seconds(s), units.percent(s / call), why) for w, s, why in rows),
        right=(1, 2),
    )
    return Part("The rest of the call", table)
