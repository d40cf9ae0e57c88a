"""The first line: the faster implementation, its factor, and crossovers."""

from __future__ import annotations

import math
import statistics

from jaxscope import words
from jaxscope.analysis.comparison import names, stats, sweep, validity
from jaxscope.analysis.comparison.sweep import Contender, Size
from jaxscope.model.comparison import ComparisonRecord, ComparisonRow, Ratio, RatioVerdict

_FOLDED = "J102"
"""The warning of a program that has nothing left to compute."""


def answer(record: ComparisonRecord) -> str:
    """The answer to the benchmark's question in one sentence, without a full stop."""
    early = "the run ended early" if record.stopped and any(r.measured for r in record.rows) else ""
    return "; ".join(part for part in (headline(record), beside(record), early) if part)


def headline(record: ComparisonRecord) -> str:
    """The winner at the largest size with a verdict, its factor, and why that may be unfair."""
    measured = [row for row in record.rows if row.measured]
    if not measured:
        # The reason for ending early has a line of its own, and is not repeated for each row.
        own = [row for row in record.rows if row.failure and not _by_the_end(row, record)]
        reason = _reason(own[0]) if own else ""
        return f"Nothing was measured. {reason}".rstrip(" .")
    subject = _subject(record)
    if subject is None:
        return _alone(record, measured)
    with_device = sweep.several_devices(record)
    sizes = _compared(record, subject)
    if not sizes:
        return _not_together(record, subject)
    size, ratio = _clearest(sizes)
    winner = _winner(record, size, subject, with_device)
    pair = _pair(record, subject, size, ratio, with_device, whole=True, located=not winner)
    parts = [*winner, pair, *_buts(record, subject, size), *_jax_failed(record)]
    text = "; ".join(parts)
    return f"{text[0].upper()}{text[1:]}" if text.startswith("whether") else text


def beside(record: ComparisonRecord) -> str:
    """The other sizes, crossovers, and rows without a verdict; empty where there are none."""
    subject = _subject(record)
    sizes = _compared(record, subject) if subject is not None else []
    if subject is None or not sizes:
        return ""
    with_device = sweep.several_devices(record)
    shown, ratio = _clearest(sizes)
    parts = _unfit(record, subject, sizes[-1][0], with_device)
    for i, (size, other) in enumerate(sizes):
        is_end = i in (0, len(sizes) - 1)
        if is_end and size != shown and other.verdict is not ratio.verdict:
            parts.append(_pair(record, subject, size, other, with_device, whole=False))
    name = sweep.swept(record)
    parts += [
        # Two digits, the precision of a crossover between two sizes.
        f"crossover near {name} = {names.number(float(f'{one.at:.2g}'))}"
        for one in sweep.crossovers(record, subject)[-1:]
    ]
    return "; ".join(parts)


def _clearest(sizes: list[tuple[Size, Ratio]]) -> tuple[Size, Ratio]:
    """The largest size with a winner; the largest where none has one."""
    clear = [s for s in sizes if s[1].verdict in (RatioVerdict.FASTER, RatioVerdict.SLOWER)]
    last = sizes[-1]
    return clear[-1] if clear and last[1].verdict is RatioVerdict.UNCLEAR else last


def not_run(record: ComparisonRecord) -> str:
    """`C was not run`: implementations without times beside two or more with times, or empty."""
    measured = {row.label for row in record.rows if row.measured}
    missing = {row.label: row for row in record.rows if row.label not in measured}
    if len(measured) < 2 or not missing:
        return ""
    listed = words.listed([names.label(row) for row in missing.values()])
    return f"{listed} {'was' if len(missing) == 1 else 'were'} not run"


def _subject(record: ComparisonRecord) -> Contender | None:
    """The subject of the sentence: compiled JAX, else the fastest, never the baseline."""
    measured = {(row.label, row.device) for row in record.rows if row.measured}
    others = [
        one
        for one in sweep.contenders(record)
        if one.label != record.baseline and (one.label, one.device) in measured
    ]
    if not others:
        # The baseline's own other devices, if it has any.
        same = [one for one in sweep.contenders(record) if (one.label, one.device) in measured]
        others = [one for one in same[1:] if one.device != same[0].device]
    compiled = {sweep.contender(row) for row in record.rows if row.is_jitted_jax}
    jitted = [one for one in others if one in compiled]
    # The medians at the largest sizes that they were measured at.
    last = {sweep.contender(row): row.samples for row in record.rows if row.samples}
    known = {one: statistics.median(samples) for one, samples in last.items()}
    unfit = {sweep.contender(row) for row in record.rows if validity.unfit(row)}
    jitted = [one for one in jitted if one not in unfit] or jitted
    others = [one for one in others if one not in unfit] or others
    return min(jitted or others, key=lambda one: known.get(one, math.inf), default=None)


def _compared(record: ComparisonRecord, subject: Contender) -> list[tuple[Size, Ratio]]:
    """The sizes at which it can be compared with the baseline, smallest first."""
    name = sweep.swept(record)
    return [
        (size, ratio)
        for size in sorted(record.sizes, key=lambda one: sweep.along(one, name) if name else 0)
        if (row := sweep.find(record, subject.label, size, subject.device)) is not None
        and (ratio := sweep.ratio_of(record, row)) is not None
    ]


def _pair(
    record: ComparisonRecord,
    subject: Contender,
    size: Size,
    ratio: Ratio,
    with_device: bool,
    whole: bool,
    located: bool = True,
) -> str:
    row = sweep.find(record, subject.label, size, subject.device)
    base = None if row is None else sweep.baseline_of(record, row)
    mine = names.contender(subject, with_device)
    theirs = names.contender(base, with_device) if base is not None else names.baseline(record)
    at = f" at {names.size(size)}" if size and located else ""
    interval = names.interval(ratio)
    shown = f" ({interval})" if interval and whole else ""
    match ratio.verdict:
        case RatioVerdict.FASTER if whole:
            return f"{mine} is {names.faster(ratio)} than {theirs}{at}{shown}"
        case RatioVerdict.SLOWER if whole:
            return f"{theirs} is {names.factor(ratio.estimate)} faster than {mine}{at}{shown}"
        case RatioVerdict.FASTER:
            return f"{at.strip()} {mine} is {names.faster(ratio)}"
        case RatioVerdict.SLOWER:
            return f"{at.strip()} {theirs} is {names.factor(ratio.estimate)} faster"
        case RatioVerdict.NOT_COMPARED if row is not None and base is not None:
            return _not_compared(row, base, mine, theirs, at)
        case RatioVerdict.SAME if whole:
            return f"{mine} and {theirs} take the same time{at} ({_unsure(ratio)})"
        case RatioVerdict.SAME:
            return f"{at.strip()} both take the same time"
        case _ if whole:
            return f"whether {mine} or {theirs} is faster{at} is unclear ({_unsure(ratio)})"
        case _:
            return f"{at.strip()} it is unclear"


def _not_compared(row: ComparisonRow, base: ComparisonRow, mine: str, theirs: str, at: str) -> str:
    """The reason is of one of the two: `f is not compared with g, because it returns …`."""
    if why := validity.unfit(row):
        return f"{mine} is not compared with {theirs}{at}, because {why}"
    return f"{mine} is not compared with {theirs}{at} because of the latter: {validity.unfit(base)}"


def _unfit(
    record: ComparisonRecord, subject: Contender, size: Size, with_device: bool
) -> list[str]:
    """Rows beside the pair of the sentence whose times mean nothing."""
    pair = (subject.label, record.baseline)
    return [
        f"{names.contender(row, with_device)} is not compared, because {why}"
        for row in record.at(size)
        if row.measured and row.label not in pair and (why := validity.unfit(row))
    ]


def _unsure(ratio: Ratio) -> str:
    """`ratio 1.2, from 1.1 to 1.4`: an interval without brackets. Without it where it is not the
    reason, as of a disturbed run."""
    middle, bracket, ends = names.bare(ratio).partition(" (")
    low, _, high = ends.rstrip(")").partition("–")
    sure = not bracket or low == high
    apart = max(math.log(ratio.low), -math.log(ratio.high)) if ratio.low > 0 else 0.0
    if not sure and ratio.verdict is RatioVerdict.UNCLEAR and apart > stats.DIFFERENT:
        return f"ratio {middle}, see the warnings"
    return f"ratio {middle}" if sure else f"ratio {middle}, from {low} to {high}"


def _buts(record: ComparisonRecord, subject: Contender, size: Size) -> list[str]:
    """Reasons why the ratio compares different work, for the same sentence."""
    row = sweep.find(record, subject.label, size, subject.device)
    base = None if row is None else sweep.baseline_of(record, row)
    if row is None or base is None:
        return []
    found: list[str] = []
    if validity.unfit(row) or validity.unfit(base):
        return found
    if validity.unrequested(row) or validity.unrequested(base):
        found.append("their results were not compared")
    if validity.random(row) or validity.random(base):
        found.append("results that differ from call to call were not compared")
    if row.agrees is False or base.agrees is False:
        conjugate = any(
            "complex conjugate" in doubt.text for doubt in (*row.warnings, *base.warnings)
        )
        found.append(f"but their results differ{' by complex conjugation' if conjugate else ''}")
    folded = [one for one in (row, base) if any(w.code == _FOLDED for w in one.warnings)]
    if len(folded) == 2:
        found.append("but their programs compute nothing")
    elif folded:
        found.append(f"but the program of {names.label(folded[0])} computes nothing")
    return found


def _winner(
    record: ComparisonRecord, size: Size, subject: Contender, with_device: bool
) -> list[str]:
    """The fastest at this size, where it is not of the pair, and clearly faster than all others."""
    rows = [row for row in record.at(size) if row.measured and row.agrees is not False]
    rows = [row for row in rows if not validity.unfit(row)]
    best = min(rows, key=lambda row: statistics.median(row.samples), default=None)
    mine = sweep.find(record, subject.label, size, subject.device)
    base = None if mine is None else sweep.baseline_of(record, mine)
    if best is None or mine is None or base is None or best in (mine, base):
        return []
    others = [mine, *(row for row in rows if row not in (best, mine))]
    found = [stats.ratio(record, best, one) for one in others]
    if any(one.verdict is not RatioVerdict.FASTER for one in found):
        return []
    at = f" at {names.size(size)}" if size else ""
    who, than = (names.contender(row, with_device) for row in (best, mine))
    time = words.seconds(statistics.median(best.samples))
    said = f"{who} is the fastest of {len(rows)}{at}: {time}, {names.faster(found[0])} than {than}"
    return [said]


def _jax_failed(record: ComparisonRecord) -> list[str]:
    """The failure of compiled JAX, if it was requested."""
    rows = [row for row in record.rows if row.is_jitted_jax]
    if not rows or any(row.measured for row in rows):
        return []
    failed = [row for row in rows if row.failure and not _by_the_end(row, record)]
    return [_reason(failed[0]).rstrip(".")] if failed else []


def _alone(record: ComparisonRecord, measured: list[ComparisonRow]) -> str:
    row = measured[-1]
    at = f" at {names.size(row.size)}" if row.size else ""
    failed = [one for one in record.rows if one.failure and one.label != row.label]
    because = f"; {_reason(failed[0])}" if failed else ""
    why = validity.unfit(row)
    but = f", but {why}" if why and not validity.unchecked(row) else ""
    time = words.seconds(statistics.median(row.samples))
    return f"{names.label(row)} takes {time}{at}{but}{because}".rstrip(".")


def _by_the_end(row: ComparisonRow, record: ComparisonRecord) -> bool:
    return bool(record.stopped) and row.failure.startswith("Not measured: ")


def _reason(row: ComparisonRow) -> str:
    return f"{names.label(row)}{names.after(names.failure(row))}"


def _not_together(record: ComparisonRecord, subject: Contender) -> str:
    base = next((row for row in record.rows if row.label == record.baseline), None)
    why = (
        names.failure(base)
        if base is not None and base.failure
        else "They have no rounds in common."
    )
    because = f", which {why.removeprefix('It ')}" if why.startswith("It ") else f": {why}"
    return (
        f"{names.label(subject)} cannot be compared with {names.baseline(record)}{because}"
    ).rstrip(".")
