"""A comparison over sizes: ratios to the baseline, crossovers, and break-even points."""

import itertools
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field

from jaxscope.analysis.comparison import stats
from jaxscope.model.comparison import ComparisonRecord, ComparisonRow, Phases, Ratio, RatioVerdict

Size = tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class Contender:
    """A row without its size: one implementation on one device, over all sizes."""

    label: str
    device: str
    title: str = field(default="", compare=False)
    """Its name on the screen; empty: the label."""


@dataclass(frozen=True, slots=True)
class Crossover:
    """The size at which one contender overtakes another, between two sizes with clear verdicts."""

    at: float
    """Estimated on the logarithms of sizes and ratios."""
    below: float
    above: float
    """The sizes on either side."""
    faster_above: bool
    """Whether the first one wins beyond it."""


def swept(record: ComparisonRecord) -> str:
    """The name of the size that varies; empty when there is no sweep."""
    values: dict[str, set[float]] = {}
    for size in record.sizes:
        for name, value in size:
            values.setdefault(name, set()).add(value)
    varying = [name for name, found in values.items() if len(found) > 1]
    return varying[0] if varying else ""


def along(size: Size, name: str) -> float:
    """The value of the size that varies."""
    return dict(size).get(name, math.nan)


def contender(row: ComparisonRow) -> Contender:
    """The row without its size."""
    return Contender(row.label, row.device, row.title)


def contenders(record: ComparisonRecord) -> tuple[Contender, ...]:
    """Every implementation on every device, in the order of the rows."""
    return tuple(dict.fromkeys([contender(row) for row in record.rows]))


def several_devices(record: ComparisonRecord) -> bool:
    """Whether labels alone do not distinguish the rows, so that the device must be shown."""
    labels = [one.label for one in contenders(record) if one.device]
    return len(set(labels)) < len(labels)


def largest(record: ComparisonRecord) -> Size:
    """The largest size at which anything was measured; the last one where nothing was."""
    name = swept(record)
    sizes = [size for size in record.sizes if any(row.measured for row in record.at(size))]
    if not sizes:
        return record.sizes[-1] if record.sizes else ()
    return max(sizes, key=lambda size: along(size, name)) if name else sizes[-1]


def find(
    record: ComparisonRecord, label: str, size: Size, device: str = ""
) -> ComparisonRow | None:
    """The row of a label at a size: on that device, else the first device that was measured."""
    rows = [row for row in record.at(size) if row.label == label]
    on_device = [row for row in rows if row.device == device]
    ranked = sorted(on_device or rows, key=lambda row: not row.measured)
    return ranked[0] if ranked else None


def baseline_of(
    record: ComparisonRecord, row: ComparisonRow, label: str = ""
) -> ComparisonRow | None:
    """The measured row that this one is compared with; None for itself and where there is none.

    That of its own device, if the baseline has one there.
    """
    wanted = label or record.baseline
    # The baseline on another device is compared with its own first one.
    device = "" if row.label == wanted else row.device
    base = find(record, wanted, row.size, device)
    if base is None or not base.measured or not row.measured:
        return None
    return None if (base.label, base.device) == (row.label, row.device) else base


def ratio_of(record: ComparisonRecord, row: ComparisonRow, label: str = "") -> Ratio | None:
    """The row's time over the baseline's, of the same size."""
    base = baseline_of(record, row, label)
    return None if base is None else stats.ratio(record, row, base)


def crossovers(
    record: ComparisonRecord, contender: Contender, against: str = ""
) -> tuple[Crossover, ...]:
    """Sizes at which the contender overtakes the baseline or is overtaken.

    Only between clear verdicts: sizes whose interval covers 1 decide nothing.
    """
    name = swept(record)
    points: list[tuple[float, Ratio]] = []
    for size in record.sizes:
        row = find(record, contender.label, size, contender.device)
        found = None if row is None else ratio_of(record, row, against)
        if name and found is not None and math.isfinite(found.estimate) and along(size, name) > 0:
            points.append((along(size, name), found))
    points.sort(key=lambda point: point[0])
    clear = (RatioVerdict.FASTER, RatioVerdict.SLOWER)
    sure = [i for i, (_, r) in enumerate(points) if r.verdict in clear]
    return tuple(
        [
            Crossover(
                _zero(points[left : right + 1]),
                points[left][0],
                points[right][0],
                points[right][1].verdict is RatioVerdict.FASTER,
            )
            for left, right in itertools.pairwise(sure)
            if points[left][1].verdict is not points[right][1].verdict
        ]
    )


def _zero(points: Sequence[tuple[float, Ratio]]) -> float:
    """The size at which the logarithm of the ratio crosses 0, interpolated linearly."""
    logs = [(math.log(size), math.log(ratio.estimate)) for size, ratio in points]
    for (x0, y0), (x1, y1) in itertools.pairwise(logs):
        if y0 == 0:
            return math.exp(x0)
        if y0 * y1 < 0:
            return math.exp(x0 + (x1 - x0) * y0 / (y0 - y1))
    return math.exp(logs[-1][0])


@dataclass(frozen=True, slots=True)
class BreakEven:
    """The number of calls after which compiling has paid for itself."""

    preparation_s: float
    """Compiling, and the excess of the first call over a later one."""
    saved_s: float
    """Seconds saved per later call against the baseline; negative when it is slower."""
    calls: float
    """Calls after which the whole is cheaper; infinite when never."""


def break_even(
    record: ComparisonRecord, row: ComparisonRow, base: ComparisonRow
) -> BreakEven | None:
    """The number of calls after which the row's implementation has caught up with the baseline.

    From the medians; the baseline's own preparation counts too. None where the rounds do not say
    which of the two is faster.
    """
    return _caught_up(row, base) if _is_decided(record, row, base) else None


def overtaken(
    record: ComparisonRecord, row: ComparisonRow, base: ComparisonRow
) -> BreakEven | None:
    """The calls after which the baseline's longer preparation pays off; None where it never does.

    As `break_even`, with the two rows swapped.
    """
    found = _caught_up(base, row) if _is_decided(record, row, base) else None
    if found is None or found.preparation_s <= preparation(row) or math.isinf(found.calls):
        return None
    return found


def _is_decided(record: ComparisonRecord, row: ComparisonRow, base: ComparisonRow) -> bool:
    if not row.measured or not base.measured:
        return False
    return stats.ratio(record, row, base).verdict in (RatioVerdict.FASTER, RatioVerdict.SLOWER)


def _caught_up(row: ComparisonRow, base: ComparisonRow) -> BreakEven:
    mine, theirs = statistics.median(row.samples), statistics.median(base.samples)
    extra = preparation(row) - preparation(base)
    saved = theirs - mine
    if extra <= 0:
        calls = 1.0 if saved >= 0 else math.inf
    else:
        calls = max(math.ceil(extra / saved), 1.0) if saved > 0 else math.inf
    return BreakEven(preparation(row), saved, calls)


def preparation(row: ComparisonRow) -> float:
    """Seconds before the implementation runs at its usual pace."""
    compiling = row.compile.total_s if isinstance(row.compile, Phases) else 0.0
    if row.first_call_s is None or not row.measured:
        return compiling
    return compiling + max(row.first_call_s - statistics.median(row.samples), 0.0)


def total(row: ComparisonRow, calls: float) -> float:
    """Seconds of `calls` calls from a fresh start, compiling and the first call included."""
    return preparation(row) + calls * statistics.median(row.samples)
