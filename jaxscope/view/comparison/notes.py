"""Failures, warnings and caveats of a comparison, as sentences with their codes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from jaxscope import words
from jaxscope.analysis.comparison import names, sweep
from jaxscope.model.comparison import ComparisonRecord, ComparisonRow, RatioVerdict
from jaxscope.model.stage import Unavailable

_UNREQUESTED = "not checked"
"""The reason of a check that was not requested."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """One warning, failure or reason: its subjects and its text."""

    about: str
    """`JAX jit at n = 64, 128`; empty where it concerns everything."""
    text: str
    code: str = ""


def sentences(record: ComparisonRecord) -> tuple[Sentence, ...]:
    """Failures first, then reasons for unclear verdicts, then warnings, without repetition."""
    return (*_merged(_failures(record), record), *_merged(_all(record), record))


def _all(record: ComparisonRecord) -> Iterator[tuple[str, str, ComparisonRow | None]]:
    said = {doubt.text: doubt.code for doubt in record.warnings}
    for row in record.rows:
        ratio = sweep.ratio_of(record, row)
        if ratio is not None and ratio.verdict is RatioVerdict.UNCLEAR and ratio.why:
            code = said.get(ratio.why)  # the same sentence follows under its code
            yield "unclear", f"The reason is {code}, below." if code else ratio.why, row
        if row.measured and isinstance(row.error, Unavailable) and row.error.reason != _UNREQUESTED:
            yield "unchecked", f"The results were not compared: {row.error.reason}.", row
    for doubt in record.warnings:
        yield doubt.code, doubt.text, None
    for row in record.rows:
        for doubt in row.warnings:
            yield doubt.code, doubt.text, row


def _failures(record: ComparisonRecord) -> Iterator[tuple[str, str, ComparisonRow | None]]:
    for row in record.rows:
        if row.failure:
            yield "stopped" if row.measured else "not run", names.failure(row), row


def _merged(
    found: Iterator[tuple[str, str, ComparisonRow | None]], record: ComparisonRecord
) -> Iterator[Sentence]:
    """Merge sentences that differ only in their figures, with their subjects.

    The figures shown are the largest, with the number of sentences. Figures that are not measured
    (a shape, a count of inputs) are merged for one implementation only.
    """
    groups: dict[tuple[str, str, str], list[tuple[str, ComparisonRow | None]]] = {}
    for code, text, row in found:
        whose = "" if row is None or _measures(code) else names.contender(row, True)
        groups.setdefault((code, _shape(text), whose), []).append((text, row))
    said: dict[tuple[str, str], list[ComparisonRow]] = {}
    for (code, _, _), members in groups.items():
        text = max((text for text, _ in members), key=_largest)
        if len({one for one, _ in members}) > 1:
            figures, _, fix = text.removesuffix(".").partition(". ")
            text = f"{figures} (the largest of {len(members)}).{f' {fix}.' if fix else ''}"
        said.setdefault((code, text), []).extend([row for _, row in members if row is not None])
    for (code, text), rows in said.items():
        yield Sentence(_about(rows, record), text, code)


def _measures(code: str) -> bool:
    """Whether the figures of this code are times and shares, comparable between implementations."""
    return code.startswith("J3") or code == "unclear"


def _about(rows: list[ComparisonRow], record: ComparisonRecord) -> str:
    """`NumPy, JAX jit at n = 64, 128`."""
    with_device = sweep.several_devices(record)
    sizes: dict[str, list[str]] = {}
    for row in rows:
        sizes.setdefault(names.contender(row, with_device), []).append(_brief_size(row, record))
    if len(record.sizes) < 2:
        return ", ".join(sizes)
    parts = [
        who if len(at) == len(record.sizes) else f"{who} at {_name(record)}{', '.join(at)}"
        for who, at in sizes.items()
    ]
    return "; ".join(parts)


def _largest(text: str) -> tuple[float, ...]:
    """The largest number first, then the others in their order."""
    numbers = [float(one) for one in re.findall(r"\d+(?:\.\d+)?", text)]
    return (max(numbers, default=0.0), *numbers)


def _shape(text: str) -> str:
    """The text without its figures; line numbers of the cell stay."""
    return re.sub(r"(?<!line )(?<![\w.])[-+]?\d[\d.,e+-]*", "#", text)


def _brief_size(row: ComparisonRow, record: ComparisonRecord) -> str:
    name = sweep.swept(record)
    return names.number(sweep.along(row.size, name)) if name else names.size(row.size)


def _name(record: ComparisonRecord) -> str:
    name = sweep.swept(record)
    return f"{name} = " if name else ""


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
