"""XLA's passes: the list, and what they did to the instructions of a line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Protocol

from jaxscope import words
from jaxscope.model.compiler.passes import (
    CompilerPass,
    FollowedInstructions,
    InstructionChange,
    PassEffect,
)
from jaxscope.view.base.document import SEPARATOR, Chapter, Part
from jaxscope.view.base.table import Table

_MOST = 24
"""Instructions that are listed of the program received and of the optimized one."""
_NAMES = re.compile(r"%[\w.\-]+")


class _Dumped(Protocol):
    @property
    def passes(self) -> Sequence[CompilerPass]: ...
    @property
    def seconds(self) -> float: ...


def summary(title: str, dumped: _Dumped, first_s: float | None) -> str:
    """The first line of the list."""
    parts = [title, f"{words.count(len(dumped.passes), 'pass', 'passes')} changed the program"]
    price = f"compiled once more: {words.seconds(dumped.seconds)}"
    first = f" (first: {words.seconds(first_s)})" if first_s else ""
    return SEPARATOR.join([*parts, price + first])


def pass_list(passes: Sequence[CompilerPass]) -> Chapter:
    """The passes in order, with the instructions that they added, removed and altered."""
    table = Table.of(
        passes,
        (">", "", lambda p: str(p.number)),
        ("<", "pass", lambda p: p.name),
        ("<", "pipeline", lambda p: p.pipeline),
        (">", "added", lambda p: _number(p.added)),
        (">", "removed", lambda p: _number(p.removed)),
        (">", "altered", lambda p: _number(p.altered)),
    )
    return Chapter("passes", "", parts=(Part(table=table, brief=True),))


def followed_summary(data: FollowedInstructions) -> str:
    """The first line of a followed line."""
    first, last = (words.count(len(lines), "instruction") for lines in (data.first, data.last))
    number = len(data.steps)
    parts = [data.subject, f"{first} → {last}", words.count(number, "pass", "passes")]
    return SEPARATOR.join(parts if data.exact else [*parts, "approximate"])


def followed(data: FollowedInstructions) -> Chapter:
    """The instructions received, each pass with its changes, and those of the optimized program.

    Changes of a pass that differ in names alone, as those of each iteration of a Python loop do,
    are the first one and their number; of many instructions the first are shown.
    """
    parts = [_code("Received by XLA", _first(data.first))]
    for step in data.steps:
        one = step.compiler_pass
        caption = f"{one.number} · {one.name} ({one.pipeline})"
        parts.append(_code(caption, list(_changes(step.changes))))
    parts.append(_code("Optimized program", _first(data.last) or ["  none"]))
    return Chapter("passes", "", parts=tuple(parts))


def _first(lines: Sequence[str]) -> list[str]:
    shown = [f"  {line}" for line in lines[:_MOST]]
    return [*shown, f"  … {len(lines) - _MOST} more"] if len(lines) > _MOST else shown


def _changes(changes: Sequence[InstructionChange]) -> Iterator[str]:
    alike: dict[tuple[object, ...], list[InstructionChange]] = {}
    for change in changes:
        key = (change.kind, *(_NAMES.sub("", line) for line in (*change.before, *change.after)))
        alike.setdefault(key, []).append(change)
    for first, *others in alike.values():
        yield from _change(first)
        if others:
            yield f"  … {words.count(len(others), 'other')} alike"


def _change(change: InstructionChange) -> list[str]:
    what = change.kind.value
    if change.kind is PassEffect.MOVED and change.into:
        what = f"moved into %{change.into}"
    signs = ("-", "=") if change.kind is PassEffect.MERGED else ("-", "+")
    sides = zip(signs, (change.before, change.after), strict=True)
    return [what, *(f"  {sign} {line}" for sign, lines in sides for line in lines)]


def _code(caption: str, lines: Sequence[str]) -> Part:
    return Part(caption, drawing=tuple(lines), brief=True, copied=True)


def _number(number: int) -> str:
    return str(number) if number else ""
