"""The instructions of a profiled program by call stack and equation, and a GPU's kernels."""

from __future__ import annotations

import collections
import math
from collections.abc import Callable, Mapping

from jaxscope import words
from jaxscope.analysis.links.line_figures import compiled_program
from jaxscope.analysis.profile.bounds import Bottleneck, Bound, bound
from jaxscope.analysis.profile.stacks import by_equation, by_instruction_and_equation, stack
from jaxscope.model import Program, Roofline
from jaxscope.model.profile import DeviceActivity, Kernel, Profile
from jaxscope.view.base.document import Part
from jaxscope.view.base.places import place_of
from jaxscope.view.base.table import Cell, Table
from jaxscope.view.profile.icicle import svg, tree
from jaxscope.view.profile.lines import direction

_MOST_OPS = 40
_MOST_EQUATIONS = 20


def by_stack(
    program: Program, profile: Profile, times: Mapping[tuple[str, int | None], float]
) -> tuple[Part, ...]:
    """Time by call stack as a flame graph; empty where the optimized HLO was not fetched."""
    if not times:
        return ()
    root = stack(program, times, program.title)
    return (Part("By call stack", None, svg(root), tree(root)),)


def by_equations(
    program: Program, profile: Profile, times: Mapping[tuple[str, int | None], float]
) -> tuple[Part, ...]:
    """The equations as a table, the longest first; empty like `by_stack`."""
    if not times:
        return ()

    def row(number: int | None, seconds: float) -> tuple[str, ...]:
        time = Cell(words.seconds(seconds), value=seconds)
        share = words.share(seconds, profile.whole_s)
        if number is None:
            return ("unattributed", "", time, share, "", "")
        equation = program.equations[number]
        frame = next(iter(equation.frames), None)
        at = (
            Cell(f"{frame.function} line {frame.span.line}", place=place_of(frame)) if frame else ""
        )
        outputs = ", ".join(equation.outputs[:2])
        return (f"`{equation.primitive}`", direction(equation.phase), time, share, outputs, at)

    longest = list(by_equation(times).items())[:_MOST_EQUATIONS]
    heads = ("equation", "direction", "time", "share", "outputs", "at")
    table = Table(heads, tuple(row(*one) for one in longest), (2, 3))
    return (Part("Equations, the longest first", table, choice="equation"),)


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


def seconds_per_byte(program: Program, profile: Profile) -> dict[str, float]:
    """Of the memory-bound instructions; empty without the peaks."""
    return {
        name: 1 / bound.bytes
        for name, bound in bounds_of(program, profile).items()
        if bound.verdict is Bottleneck.MEMORY
    }


def by_op(profile: Profile, bounds: Mapping[str, Bound]) -> Part:
    """The instructions as a table, the longest first."""
    rows: list[tuple[str, ...]] = []
    for row in profile.ops[:_MOST_OPS]:
        found = None if row.overhead else bounds.get(row.name)
        rows.append(
            (
                f"`{row.name}`" + " overhead" * row.overhead,
                row.opcode,
                Cell(words.seconds(row.seconds), value=row.seconds),
                words.share(row.seconds, profile.whole_s),
                Cell(words.seconds(row.cpu_s), value=row.cpu_s),
                Cell(words.significant(row.times), value=row.times),
                _rate(found.flops if found else math.nan, words.flop_rate),
                _rate(found.bytes if found else math.nan, words.byte_rate),
                "" if found is None else _limit(found),
            )
        )
    time = "CPU time" if profile.activity is None else "kernel time"
    heads = ("instruction", "operation", "time", "share", time, "executions", "FLOP/s", "bytes/s",
             "limit")  # fmt: skip
    more = len(profile.ops) - _MOST_OPS
    caption = "Instructions, the longest first"
    if more > 0:
        caption += f" ({words.count(more, 'shorter one')} left out)"
    table = Table(heads, tuple(rows), right=(2, 3, 4, 5, 6, 7))
    return Part(caption, table, choice="instruction")


def _rate(rate: float, written: Callable[[float], str]) -> Cell:
    return Cell("" if math.isnan(rate) else written(rate), value=rate)


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
    return f"{found.verdict}, {roof} of the roof"


def rest(profile: Profile) -> Part:
    """The parts of a call that belong to no line."""
    loop = "a loop, branch or call was open and nothing inside it ran"
    rows = (
        ("dispatch", profile.dispatch_s, "from the call to its first instruction"),
        ("idle", profile.idle_s, "between instructions"),
        ("control-flow overhead", profile.overhead_s, loop),
        ("completion", profile.completion_s, "from the last instruction until the result is ready"),
        ("unattributed", profile.unattributed_s, "instructions of no source line"),
    )
    call = profile.whole_s or math.nan
    table = Table.of(
        rows,
        ("<", "part", lambda row: row[0]),
        (">", "time", lambda row: words.seconds(row[1])),
        (">", "share", lambda row: words.percent(row[1] / call)),
        ("<", "meaning", lambda row: row[2]),
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
    heads = ("instruction", "kernels per call", "kernel", "launches", "time",
             "theoretical occupancy")  # fmt: skip
    return Table(heads, tuple(rows[:_MOST_OPS]), right=(1, 3, 4, 5))


def _streams(found: DeviceActivity, call_s: float) -> Table:
    several = len({stream.device for stream in found.streams}) > 1
    return Table.of(
        found.streams,
        ("<", "stream", lambda s: f"gpu:{s.device} {s.name}" if several else s.name),
        (">", "busy", lambda s: words.seconds(s.busy_s)),
        (">", "share of call", lambda s: words.share(s.busy_s, max(call_s, 0.0))),
        (">", "kernels and copies", lambda s: words.significant(s.events)),
    )


def _transfers(found: DeviceActivity) -> Table:
    return Table.of(
        found.transfers,
        ("<", "copy", lambda row: row.kind),
        (">", "times", lambda row: words.significant(row.times)),
        (">", "time", lambda row: words.seconds(row.seconds)),
        (">", "bytes", lambda row: words.size(round(row.bytes)) if row.bytes else ""),
        (
            ">",
            "bytes/s",
            lambda row: (
                words.byte_rate(row.bytes / row.seconds) if row.bytes and row.seconds else ""
            ),
        ),
    )
