"""The line of a benchmark: blanks, brackets, quotes."""

from __future__ import annotations

import pytest

from jaxscope.bench.cell.line import assignments, sizes, split_input, split_versus, tokens
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
    with pytest.raises(CellError, match="separate inputs by blanks"):
        split_input("n=1000,")
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


@pytest.mark.parametrize(
    ("given", "values"),
    [
        ("n=2^3..2^6", (8, 16, 32, 64)),
        ("n=10**1..10**3", (10, 100, 1000)),
        ("n=10..1000*10", (10, 100, 1000)),
        ("n=64..300", (64, 128, 256, 300)),
        ("n=1_000,1e2,2*5", (10, 100, 1000)),
        ("n=7", (7,)),
        ("n=0", (0,)),
    ],
)
def test_one_name_takes_values_ranges_and_powers(given: str, values: tuple[int, ...]):
    assert tuple(size["n"] for size in sizes([given])) == values


def test_a_second_name_is_computed_from_the_one_that_varies():
    assert sizes(["n=4,8 m=n//2", "k=3"]) == (
        {"n": 4, "m": 2, "k": 3},
        {"n": 8, "m": 4, "k": 3},
    )


def test_without_sizes_there_is_one_empty_size():
    assert sizes([]) == ({},)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (["2^6"], "the name before the values is missing"),
        (["n=1,2", "m=3,4"], "`n` and `m` both have several values"),
        (["n=1", "n=2"], "gives `n` twice"),
        (["n=a"], "uses `a`, which is not defined before it"),
        (["n=f(2)"], "cannot read 'f(2)' as a number"),
        (["n=1", "m=k+1"], "uses `k`, which is not defined before it"),
        (["n=5..1"], "ends before it begins"),
        (["n=2^9..2^2"], "ends before it begins"),
        (["n=1..2..3"], "a range has two ends"),
        (["n=1,"], "a value is missing"),
        (["n=1.5"], "is not a whole number of 0 or more"),
        (["n=-1"], "cannot read '-1'"),
        (["n=2^99999"], "cannot read '2^99999'"),
        (["n=2^1..2^9999"], "does not fit into any memory"),
        (["n=1..9999999999999999999999999*2"], "at most 64 are allowed"),
        (["n=1..8*1"], "multiplies `n` by 1; the factor must be 2 or more"),
    ],
)
def test_sizes_that_cannot_be_read_are_reported(given: list[str], says: str):
    with pytest.raises(CellError) as caught:
        sizes(given)
    assert says in str(caught.value)
