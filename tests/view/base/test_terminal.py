"""Aligned columns and what gives way where a terminal is narrow."""

from __future__ import annotations

import pytest

from jaxscope.view.base.document import CodeBlock, Part
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


def test_figures_are_never_cut_and_what_does_not_fit_is_on_a_line_below() -> None:
    heads = ("implementation", "median", "p10–p90", "ratio (95 %)", "verdict")
    row = ("A long implementation", "11.6 µs", "790 ns–1.21 µs", "66.4 (65.1–67.9)", "67× slower")
    lines = list(Terminal(44, color=False).table(Table(heads, (row,), right=(1, 2, 3))))
    assert lines == [
        "  implementat…   median         p10–p90",
        "        ratio (95 %)  verdict",
        "  A long impl…  11.6 µs  790 ns–1.21 µs",
        "    66.4 (65.1–67.9)  67× slower",
    ]


def test_changed_lines_are_not_cut_before_what_has_changed() -> None:
    long = "y = f(alpha, beta, method='{}')"
    diff = f" {long}\n-    {long.format('one')}\n+    {long.format('two')}".split("\n")
    code = CodeBlock(dict(enumerate(diff, 1)), 3, language="diff")
    lines = list(Terminal(30, color=False)._part(Part(code=code)))
    assert lines == [
        "  │  y = f(alpha, beta, metho…",
        "  │ -    y = f(alpha, beta,",
        "  │      method='one')",
        "  │ +    y = f(alpha, beta,",
        "  │      method='two')",
    ]
