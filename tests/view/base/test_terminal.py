"""Aligned columns and what gives way where a terminal is narrow."""

from __future__ import annotations

import pytest

from jaxscope.view.base.table import Table
from jaxscope.view.base.terminal import Terminal

FIGURES = Table(
    ("function", "compiles", "total"),
    (("a_very_long_name_of_a_function", "3", "1.47 s"), ("b", "12", "50 ms")),
    right=(1, 2),
)


@pytest.mark.parametrize("width", [40, 60, 100])
def test_a_last_column_of_figures_stays_on_its_line_and_is_aligned(width: int) -> None:
    lines = list(Terminal(width, color=False).table(FIGURES))
    assert len(lines) == 3
    assert {len(line) for line in lines} == {len(lines[0])}
    assert len(lines[0]) <= width
    assert lines[1].endswith(" 3  1.47 s")
    assert lines[2].endswith("12   50 ms")


def test_a_last_column_of_words_is_wrapped_under_itself() -> None:
    table = Table(("name", "why"), (("f", "a new function each time it runs"),))
    assert list(Terminal(24, color=False).table(table)) == [
        "  name  why",
        "  f     a new function",
        "        each time it",
        "        runs",
    ]
