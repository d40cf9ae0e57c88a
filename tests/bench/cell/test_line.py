"""The line of a benchmark: blanks, brackets, quotes."""

from __future__ import annotations

import pytest

from jaxscope.bench.cell.line import assignments, split_input, split_versus, tokens
from jaxscope.bench.cell.sections import CellError


def test_blanks_inside_brackets_and_around_equals_split_nothing():
    line = "--vs numpy,jax x = normal(n, n)  --sizes 'n=1 m=2' y=ones((2, 3))"
    assert tokens(line) == [
        "--vs",
        "numpy,jax",
        "x=normal(n, n)",
        "--sizes",
        "'n=1 m=2'",
        "y=ones((2, 3))",
    ]


def test_an_option_with_its_value_is_left_alone():
    assert tokens("--seed=3 x=ones(n)") == ["--seed=3", "x=ones(n)"]


@pytest.mark.parametrize(("line", "what"), [("x=ones(n", "a bracket"), ("x='a", "the quote '")])
def test_brackets_and_quotes_that_do_not_close_are_reported(line: str, what: str):
    with pytest.raises(CellError, match=f"{what}.* is not closed"):
        tokens(line)


def test_an_input_is_a_name_and_an_expression():
    assert split_input("x=a == b") == ("x", "a == b")
    assert split_input("x==b") is None
    assert assignments("x=ones(n) y=2") == [("x", "ones(n)"), ("y", "2")]
    with pytest.raises(CellError, match=r"'ones\(n\)' is not an input"):
        assignments("ones(n)")


def test_vs_splits_only_between_expressions():
    assert split_versus("f(x, 'a vs b') vs g(x)") == ["f(x, 'a vs b')", "g(x)"]
    assert split_versus("a vs b vs vs_c") == ["a", "b", "vs_c"]
    for text in ("f(x)", "f(x) vs ", ""):
        with pytest.raises(
            CellError, match=r"compares at least two expressions: `%jaxbench f\(x\) vs g\(x\)`"
        ):
            split_versus(text)
