"""The instructions of a profiled program by call stack and equation, and a GPU's kernels."""

from __future__ import annotations

import collections
import math
from collections.abc import Mapping

from jaxscope import words
from jaxscope.analysis.links.line_figures import compiled_program
from jaxscope.analysis.profile.bounds import Bottleneck, Bound, bound
from jaxscope.analysis.profile.stacks import by_equation, by_instruction_and_equation, stack
from jaxscope.model import Program, Roofline
from jaxscope.model.profile import DeviceActivity, Kernel, Profile
from jaxscope.view.base.document import Part
from jaxscope.view.base.table import Table
from jaxscope.view.profile.icicle import svg, tree
from jaxscope.view.profile.lines import direction

_MOST_OPS = 40
_MOST_EQUATIONS = 20


def by_stack(program: Program, profile: Profile) -> tuple[Part, ...]:
    """Time by call stack and by equation; empty where the optimized HLO was not fetched."""
    times = times_of(program, profile)
    if not times:
        return ()
    root = stack(program, times, program.title)
    rows: list[tuple[str, ...]] = []
    places: list[tuple[int, int] | None] = []
    for number, seconds in list(by_equation(times).items())[:_MOST_EQUATIONS]:
        share = words.percent(seconds / profile.whole_s) if profile.whole_s else ""
        if number is None:
            rows.append(("unattributed", "", words.seconds(seconds), share, "", ""))
            places.append(None)
            continue
        equation = program.equations[number]
        frame = next(iter(equation.frames), None)
        rows.append(
            (
                f"`{equation.primitive}`",
                direction(equation.phase),
                words.seconds(seconds),
                share,
                ", ".join(equation.outputs[:2]),
                f"{frame.function} line {frame.span.line}" if frame else "",
            )
        )
        source = frame.source if frame else None
        places.append((source, frame.span.line) if frame and source is not None else None)
    heads = ("equation", "direction", "time", "share", "outputs", "at")
    table = Table(heads, tuple(rows), (2, 3), (5,), tuple(places))
    return (
        Part("By call stack", None, svg(root), tree(root)),
        Part("Equations, the longest first", table),
    )


def times_of(program: Program, profile: Profile) -> dict[tuple[str, int | None], float]:
    """Seconds by instruction and equation; empty without the optimized HLO."""
    compiled = compiled_program(program)
    if compiled is None or not program.equations:
        return {}
    return by_instruction_and_equation(program, *compiled[:2], profile)


def bounds_of(program: Program, profile: Profile) -> dict[str, Bound]:
    """The limit of each instruction, as far as the peaks are known."""
    peaks = program.roofline if isinstance(program.roofline, Roofline) else None
    compiled = compiled_program(program)
    costs = {} if compiled is None else {row.name: row for row in compiled[2].by_instruction}
    return {op.name: bound(op, costs.get(op.name), peaks) for op in profile.ops if not op.overhead}


def by_op(profile: Profile, bounds: Mapping[str, Bound]) -> Part:
    """The instructions as a table, the longest first."""
    rows: list[tuple[str, ...]] = []
    for row in profile.ops[:_MOST_OPS]:
        found = None if row.overhead else bounds.get(row.name)
        rows.append(
            (
                f"`{row.name}`" + (" overhead" if row.overhead else ""),
                row.opcode,
                words.seconds(row.seconds),
                words.percent(row.seconds / profile.whole_s) if profile.whole_s else "",
                words.seconds(row.cpu_s),
                words.significant(row.times),
                "" if found is None or math.isnan(found.flops) else words.flop_rate(found.flops),
                "" if found is None or math.isnan(found.bytes) else words.byte_rate(found.bytes),
                "" if found is None else _limit(found),
            )
        )
    heads = (
        "instruction",
        "operation",
        "time",
        "share",
        "kernel time" if profile.activity is not None else "CPU time",
        "executions",
        "FLOP/s",
        "bytes/s",
        "limit",
    )
    more = len(profile.ops) - _MOST_OPS
    caption = "Instructions, the longest first"
    if more > 0:
        caption += f" ({words.count(more, 'shorter one')} left out)"
    return Part(caption, Table(heads, tuple(rows), right=(2, 3, 4, 5, 6, 7)))


def _limit(found: Bound) -> str:
    """`memory-bound, 73 to 80 % of the roof`; above the roof, operands come from a cache."""
    low, high = found.share
    if not found.verdict or math.isnan(low):
        return found.verdict
    if found.verdict is Bottleneck.MEMORY and low > 1:
        return "memory-bound, above the roof: cache"
    if found.verdict is Bottleneck.COMPUTE and low > 1:
        return "compute-bound, above the measured peak"
    roof = words.percent(low)
    if words.percent(high) != roof:
        roof = f"{roof.removesuffix(' %')} to {words.percent(high)}"
    near = ", near the ridge" if found.near_ridge else ""
    return f"{found.verdict}, {roof} of the roof{near}"


def rest(profile: Profile) -> Part:
    """The parts of a call that belong to no line."""
    rows = (
        ("dispatch", profile.dispatch_s, "from the call to its first instruction"),
        ("idle", profile.idle_s, "between instructions"),
        (
            "control-flow overhead",
            profile.overhead_s,
            "a loop, branch or call was open and nothing inside it ran",
        ),
        (
            "completion",
            profile.completion_s,
            "from the last instruction until the result is ready",
        ),
        ("unattributed", profile.unattributed_s, "instructions of no source line"),
    )
    call = profile.whole_s or math.nan
    table = Table(
        ("part", "time", "share", "meaning"),
        tuple((w, words.seconds(s), words.percent(s / call), why) for w, s, why in rows),
        right=(1, 2),
    )
    return Part("The rest of the call", table)


def gpu_parts(profile: Profile) -> tuple[Part, ...]:
    """Kernels, streams and copies of a GPU; none for a device that writes no events."""
    found = profile.activity
    if found is None:
        return ()
    return (
        Part("Kernels of each instruction, the longest first", _kernels(found)),
        Part("Streams", _streams(found, profile.call_s)),
        *((Part("Copies", _transfers(found)),) if found.transfers else ()),
    )


def _kernels(found: DeviceActivity) -> Table:
    by_op: dict[str, list[Kernel]] = collections.defaultdict(list)
    for kernel in found.kernels:
        by_op[kernel.op].append(kernel)
    rows: list[tuple[str, ...]] = []
    for op, kernels in by_op.items():
        number = sum(kernel.times for kernel in kernels)
        for index, kernel in enumerate(kernels):
            occupancy = kernel.occupancy
            rows.append(
                (
                    (f"`{op}`" if op else "unknown instruction") if index == 0 else "",
                    words.significant(number) if index == 0 else "",
                    kernel.name,
                    words.significant(kernel.times),
                    words.seconds(kernel.seconds),
                    "" if occupancy is None else words.percent(occupancy),
                )
            )
    heads = (
        "instruction",
        "kernels per call",
        "kernel",
        "launches",
        "time",
        "theoretical occupancy",
    )
    return Table(heads, tuple(rows[:_MOST_OPS]), right=(1, 3, 4, 5))


def _streams(found: DeviceActivity, call_s: float) -> Table:
    several = len({stream.device for stream in found.streams}) > 1
    rows = tuple(
        (
            f"gpu:{stream.device} {stream.name}" if several else stream.name,
            words.seconds(stream.busy_s),
            words.percent(stream.busy_s / call_s) if call_s > 0 else "",
            words.significant(stream.events),
        )
        for stream in found.streams
    )
    return Table(("stream", "busy", "share of call", "kernels and copies"), rows, right=(1, 2, 3))


def _transfers(found: DeviceActivity) -> Table:
    rows = tuple(
        (
            row.kind,
            words.significant(row.times),
            words.seconds(row.seconds),
            words.size(round(row.bytes)) if row.bytes else "",
            words.byte_rate(row.bytes / row.seconds) if row.bytes and row.seconds else "",
        )
        for row in found.transfers
    )
    return Table(("copy", "times", "time", "bytes", "bytes/s"), rows, right=(1, 2, 3, 4))
