"""Failures, warnings and caveats of a comparison, as sentences with their codes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from jaxscope import words
from jaxscope.analysis.comparison import names, sweep
from jaxscope.analysis.comparison.validity import unchecked
from jaxscope.model.comparison import ComparisonRecord, ComparisonRow, RatioVerdict

_Said = tuple[str, str, ComparisonRow | None]
"""A code, its text, and the row that it is about."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """One warning, failure or reason: its subjects and its text."""

    about: str
    """`JAX jit at n = 64, 128`; empty where it concerns everything."""
    text: str
    code: str = ""


def sentences(record: ComparisonRecord) -> tuple[Sentence, ...]:
    """Failures first, then reasons for unclear verdicts, then warnings, without repetition."""
    failures = (
        ("stopped" if row.measured else "not run", names.failure(row), row)
        for row in record.rows
        if row.failure
    )
    return (*_merged(failures, record), *_merged(_warnings(record), record))


def _warnings(record: ComparisonRecord) -> Iterator[_Said]:
    said = {doubt.text: doubt.code for doubt in record.warnings}
    for row in record.rows:
        ratio = sweep.ratio_of(record, row)
        if ratio is not None and ratio.verdict is RatioVerdict.UNCLEAR and ratio.why:
            code = said.get(ratio.why)  # the same sentence follows under its code
            yield "unclear", f"The reason is {code}, below." if code else ratio.why, row
        if row.measured and unchecked(row):
            yield "unchecked", f"The results were not compared: {unchecked(row)}.", row
    for doubt in record.warnings:
        yield doubt.code, doubt.text, None
    for row in record.rows:
        for doubt in row.warnings:
            yield doubt.code, doubt.text, row


def _merged(found: Iterable[_Said], record: ComparisonRecord) -> Iterator[Sentence]:
    """Merge sentences that differ only in their figures, with their subjects.

    The figures shown are the largest, with the number of sentences. Figures that are not measured
    (a shape, a count of inputs) are merged for one implementation only.
    """
    groups: dict[tuple[str, str, str], list[tuple[str, ComparisonRow | None]]] = {}
    for code, text, row in found:
        # Times and shares can be compared between implementations.
        measured = code.startswith("J3") or code == "unclear"
        whose = "" if row is None or measured else names.contender(row, True)
        # Line numbers of the cell stay.
        shape = re.sub(r"(?<!line )(?<![\w.])[-+]?\d[\d.,e+-]*", "#", text)
        groups.setdefault((code, shape, whose), []).append((text, row))
    said: dict[tuple[str, str], list[ComparisonRow]] = {}
    for (code, _, _), members in groups.items():
        text = max((text for text, _ in members), key=_largest)
        if len({one for one, _ in members}) > 1:
            figures, _, fix = text.removesuffix(".").partition(". ")
            text = f"{figures} (the largest of {len(members)}).{f' {fix}.' if fix else ''}"
        said.setdefault((code, text), []).extend([row for _, row in members if row is not None])
    for (code, text), rows in said.items():
        yield Sentence(_about(rows, record), text, code)


def _about(rows: list[ComparisonRow], record: ComparisonRecord) -> str:
    """`NumPy, JAX jit at n = 64, 128`."""
    with_device, name = sweep.several_devices(record), sweep.swept(record)
    sizes: dict[str, list[str]] = {}
    for row in rows:
        at = names.number(sweep.along(row.size, name)) if name else names.size(row.size)
        sizes.setdefault(names.contender(row, with_device), []).append(at)
    if len(record.sizes) < 2:
        return ", ".join(sizes)
    prefix = f"{name} = " if name else ""
    parts = [
        who if len(at) == len(record.sizes) else f"{who} at {prefix}{', '.join(at)}"
        for who, at in sizes.items()
    ]
    return "; ".join(parts)


def _largest(text: str) -> tuple[float, ...]:
    """The largest number first, then the others in their order."""
    numbers = [float(one) for one in re.findall(r"\d+(?:\.\d+)?", text)]
    return (max(numbers, default=0.0), *numbers)


def conditions(record: ComparisonRecord) -> str:
    """One line."""
    return " · ".join(_parts(record))


def _parts(record: ComparisonRecord) -> Iterator[str]:
    here = record.environment
    versions = {"jax": here.jax, **dict(record.versions)}
    yield ", ".join(f"{name} {version}" for name, version in versions.items() if version)
    yield f"Python {here.python} on {here.platform}"
    if here.devices:
        yield ", ".join(here.devices)
    yield "64-bit types enabled" if here.x64 else "64-bit types disabled in JAX"
    yield from (f"{name}={value}" for name, value in here.flags)
    machine = record.machine
    if machine.cores is not None:
        yield words.count(machine.cores, "core")
    if machine.load is not None:
        yield f"load {machine.load:.1f}"
    if machine.pressure is not None:
        yield f"waiting for a CPU {machine.pressure:.0f} % of the time"
    if machine.steal:
        yield f"{machine.steal:.0f} % taken by the host"
    if machine.governor:
        yield f"governor {machine.governor}"
    if machine.throttled:
        yield f"throttled: {machine.throttled}"
    if record.wall_s is not None:
        yield f"took {words.seconds(record.wall_s)}"
    yield record.created
