"""What to know before the numbers are believed, as sentences with their codes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from jaxscope.analysis import sweep
from jaxscope.model.comparison import ComparisonRecord, Row, Verdict
from jaxscope.view.comparison import names


@dataclass(frozen=True, slots=True)
class Sentence:
    """One warning, failure or reason: what it is about, and what it says."""

    about: str
    """`JAX jit at n = 64, 128`; empty where it is about everything."""
    text: str
    code: str = ""


def sentences(record: ComparisonRecord) -> tuple[Sentence, ...]:
    """Failures first, then what makes a verdict unclear, then warnings; each said once."""
    return (*_merged(_failures(record), record), *_merged(_all(record), record))


def _all(record: ComparisonRecord) -> Iterator[tuple[str, str, Row | None]]:
    for row in record.rows:
        ratio = sweep.ratio_of(record, row)
        if ratio is not None and ratio.verdict is Verdict.UNCLEAR and ratio.why:
            yield "unclear", ratio.why, row
    for doubt in record.warnings:
        yield doubt.code, doubt.text, None
    for row in record.rows:
        for doubt in row.warnings:
            yield doubt.code, doubt.text, row


def _failures(record: ComparisonRecord) -> Iterator[tuple[str, str, Row | None]]:
    for row in record.rows:
        if row.failure:
            yield "stopped" if row.measured else "not run", row.failure, row


def _merged(
    found: Iterator[tuple[str, str, Row | None]], record: ComparisonRecord
) -> Iterator[Sentence]:
    """Sentences of one contestant that differ in their figures alone stand once, for all sizes."""
    groups: dict[tuple[str, str, str], list[tuple[str, Row | None]]] = {}
    for code, text, row in found:
        who = "" if row is None else f"{row.label}\0{row.device}"
        groups.setdefault((code, _shape(text), who), []).append((text, row))
    with_device = sweep.several_devices(record)
    for (code, _, _), members in groups.items():
        text, row = members[-1]
        about = ""
        if row is not None:
            about = names.contender(row, with_device)
            sizes = [_brief_size(one, record) for _, one in members if one is not None and one.size]
            if sizes and len(record.sizes) > 1:
                every = len(sizes) == len(record.sizes)
                about += " at every size" if every else f" at {_name(record)}{', '.join(sizes)}"
        yield Sentence(about, text, code)


def _shape(text: str) -> str:
    return re.sub(r"[-+]?\d[\d.,e+-]*", "#", text)


def _brief_size(row: Row, record: ComparisonRecord) -> str:
    name = sweep.swept(record)
    return names.number(sweep.along(row.size, name)) if name else names.size(row.size)


def _name(record: ComparisonRecord) -> str:
    name = sweep.swept(record)
    return f"{name} = " if name else ""
