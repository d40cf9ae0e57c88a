"""Whatever is typed, reading it ends with a plan's part or with a sentence."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from IPython.core.error import UsageError

from jaxscope.bench.cell import line
from jaxscope.bench.cell.c_code import c_function
from jaxscope.bench.cell.line import sizes, split_versus, tokens
from jaxscope.bench.cell.sections import CellError, CellSection, sections
from jaxscope.bench.cell.timed_code import timed_code
from jaxscope.magics.options import bench

FEW = settings(max_examples=150, deadline=None, derandomize=True)
KNOWN = ("numpy", "jax", "c")
_LINES = """# numpy
# jax: a
# c
# setup
# jaxx
# xp
x = 1
x
x += 1
def f(x):
    return x
for i in x:
    pass
%time
f(x
float f(float *y) {
}
// y: like x
import os
lambda: x
return x
class A:
@f
x;
'''"""
_WORDS = """--vs numpy --sizes n=2^3..2^5 n=1,2 x=ones(n) = --grad x -q -- --vmap x=0
--time-limit 1 ' ( ) vs f(x) --dtype keep -x --x64"""
PIECES = st.sampled_from(_LINES.splitlines())
LINE = st.sampled_from(_WORDS.split())


@FEW
@given(st.lists(PIECES, max_size=8))
def test_any_cell_is_read_or_refused(pieces: list[str]) -> None:
    with contextlib.suppress(CellError, SyntaxError):
        for section in sections("\n".join(pieces), KNOWN):
            if section.name == "c":
                c_function(section, ("x",), ("n",))
            else:
                made = timed_code(section, ("x",))
                compile(made.module(("x",)), "<cell>", "exec")


@FEW
@given(st.lists(LINE, max_size=7), st.booleans())
def test_any_line_is_read_or_refused(pieces: list[str], is_cell: bool) -> None:
    with contextlib.suppress(UsageError):
        given = bench.parse(" ".join(pieces), bench.parser(), is_cell, "auto")
        assert given.rest == "" or not is_cell


@FEW
@given(st.text("n=0123456789^.*,/ -e+()_k\n", max_size=12))
def test_any_size_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(CellError):
        assert all(value >= 0 for size in sizes([text]) for value in size.values())


@FEW
@given(st.text("f(x)[]'\" vs,=-#\\", max_size=20))
def test_any_expressions_are_split_or_refused(text: str) -> None:
    with contextlib.suppress(CellError):
        assert "".join(tokens(text)).replace(" ", "") == text.replace(" ", "")
        assert all(split_versus(text))


def test_a_reader_that_fails_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*given: object) -> CellSection:
        raise KeyError("no")

    monkeypatch.setattr(line, "tokens", broken)
    with pytest.raises(KeyError):
        bench.parse("x", bench.parser(), True, "auto")
