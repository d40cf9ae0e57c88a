"""XLA's passes: the list, and what they did to the instructions of a line."""

from __future__ import annotations

from collections.abc import Sequence
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
    """The instructions received, each pass with its changes, and those of the optimized program."""
    parts = [_code("Received by XLA", [f"  {line}" for line in data.first])]
    for step in data.steps:
        one = step.compiler_pass
        caption = f"{one.number} · {one.name} ({one.pipeline})"
        parts.append(_code(caption, [line for c in step.changes for line in _change(c)]))
    parts.append(_code("Optimized program", [f"  {line}" for line in data.last] or ["  none"]))
    return Chapter("passes", "", parts=tuple(parts))


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
