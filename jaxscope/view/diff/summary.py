"""The first line of a diff: the change in time, work, memory and code."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from jaxscope import words
from jaxscope.model import StageKind
from jaxscope.model.report_diff import (
    ChangeKind,
    DiffRecord,
    ProgramDiff,
    Quantity,
    QuantityUnit,
    StageDiff,
    TimeVerdict,
)


def first_parts(record: DiffRecord) -> tuple[str, ...]:
    """The first line in its parts, the title first."""
    if not record.programs:
        title = _arrow(record.before, record.after)
        return (title, "no program to compare", *_rest(record))
    program = record.programs[0]
    return (
        _arrow(program.before, program.after),
        *(f"{old} → {new}" for name, old, new in record.environment if name == "target"),
        *_time(program),
        *_work(program),
        *_structure(program),
        *_rest(record),
    )


def _arrow(before: str, after: str) -> str:
    return before if before == after else f"{before} → {after}"


def _named(program: ProgramDiff, name: str) -> Quantity | None:
    return next((q for q in program.quantities if q.name == name), None)


def _time(program: ProgramDiff) -> Iterator[str]:
    time = _named(program, "time per call")
    if time is None:
        yield "not run"
    elif time.before is None or time.after is None:
        which = "earlier" if time.before is None else "later"
        yield f"{words.seconds(time.after or time.before)} per call, the {which} report was not run"
    else:
        yield (
            f"{words.seconds(time.before)} → {words.seconds(time.after)} per call "
            f"({change(time)}), {verdict(time)}"
        )


def _work(program: ProgramDiff) -> Iterator[str]:
    for name, before, after in (
        ("FLOPs", "", ""),
        ("bytes accessed", "", " accessed"),
        ("peak memory", "peak memory ", ""),
    ):
        q = _named(program, name)
        if q is not None and None not in (q.before, q.after) and q.before != q.after:
            extra = f" ({change(q)})" if change(q) else ""
            yield f"{before}{figure(q, q.before)} → {figure(q, q.after)}{after}{extra}"


def _structure(program: ProgramDiff) -> Iterator[str]:
    compared = [stage for stage in program.stages if not stage.unavailable]
    last = compared[-1] if compared else None
    if last is None:
        yield "no texts to compare"
    elif all(stage.same for stage in compared) and len(compared) == len(program.stages):
        yield "the same program"
    elif last.same:
        yield f"{last.kind.label}: the same"
    else:
        total = sum(len(group.changes) for group in last.groups)
        yield f"{last.kind.label}: {counts(last)} {'line' if total == 1 else 'lines'}"


def _rest(record: DiffRecord) -> Iterator[str]:
    for found, word in ((record.findings_gone, "gone"), (record.findings_new, "new")):
        if found:
            yield f"{words.count(len(found), 'finding')} {word}"
    if len(record.programs) > 1:
        yield f"+{words.count(len(record.programs) - 1, 'more program')}"


def shown_stage(program: ProgramDiff) -> StageKind | None:
    """The stage of a short view: the last one that differs."""
    found = [stage.kind for stage in program.stages if stage.groups]
    return found[-1] if found else None


_FORMS: dict[QuantityUnit, Callable[[float | None], str]] = {
    QuantityUnit.SECONDS: words.seconds,
    QuantityUnit.BYTES: words.size,
    QuantityUnit.FLOPS: words.flops,
    QuantityUnit.COUNT: words.short,
}


def figure(quantity: Quantity, value: float | None) -> str:
    """The figure with its unit."""
    return _FORMS[quantity.unit](value)


def change(quantity: Quantity) -> str:
    """`−27 %`, `+3 %`, `same`, `3.1 times`; empty where a value is missing."""
    before, after = quantity.before, quantity.after
    if before is None or after is None:
        return ""
    if before == after:
        return "same"
    ratio = quantity.ratio
    if not math.isfinite(ratio):
        return ""
    if ratio >= 2:
        return f"{words.significant(ratio)} times"
    share = words.percent(abs(ratio - 1))
    sign = "+" if ratio > 1 else "−"
    return f"{sign}{share}" if share[0].isdigit() else f"{share} {'more' if ratio > 1 else 'less'}"


def verdict(quantity: Quantity) -> str:
    """`faster`, `slower`, or the reason why it is unclear."""
    if quantity.verdict is None:
        return ""
    if quantity.verdict is TimeVerdict.UNCLEAR and quantity.note:
        return f"unclear: {quantity.note}"
    return str(quantity.verdict)


def counts(stage: StageDiff) -> str:
    """`3 changed, 1 added, 2 removed`, or `the same`."""
    if stage.unavailable:
        return "not compared"
    found = [f"{number} {kind}" for kind in ChangeKind if (number := stage.count(kind))]
    return ", ".join(found) or "the same"
