"""Ordinary recompilations: the first cause, its fix as applied, and what a late watch can say.

A late watch plays a part of the table; `python -m measurements recompile_situations` all of it.
"""

from __future__ import annotations

from collections.abc import Callable, Generator

import pytest

from jaxscope.capture import _jax
from measurements.recompile_situations import LEAST
from tests.capture.compiles.situations import (
    Compiled,
    Situation,
    Steps,
    in_script,
    known_unknown,
    playground,
    situations,
    unheard,
)

Play = Callable[[Steps], Compiled]

TABLE = {one.name: one for one in situations()}
OFTEN_WRONG = (
    "a new Partial",
    "a carry that begins with None",
    "a flag that is 1 after True",
    "a key of another implementation",
    "channels last",
    "a boolean mask",
    "the gradient of a jitted function on another size",
    "vmap over another axis",
    "per-example gradients in a loop",
    "a method jitted in __init__ of a new object",
    "jit of grad of a method in a loop",
    "the Hessian of a function in a loop",
    "another activation",
    "a static argument that was an int and is a NumPy int",
    "NaN as a static argument",
    "a bound method as a static argument",
)
"""Situations that jaxscope explained wrongly once, or with a fix that did not work."""
PLAIN = [name for name, one in TABLE.items() if not one.needs]
WATCHED_LATE = [name for name in (*OFTEN_WRONG[::2], *PLAIN[3::7]) if TABLE[name].topic != "eager"]


@pytest.fixture(scope="module")
def in_notebook() -> Generator[Play]:
    with unheard(), playground() as play:
        yield play


def test_the_table_has_a_fix_for_what_can_be_fixed() -> None:
    assert len(TABLE) >= LEAST
    assert len(TABLE) == len(situations()), "two of one name"
    assert [one.name for one in TABLE.values() if bool(one.fix) != bool(one.fixed)] == []


@pytest.mark.parametrize("name", TABLE)
def test_the_first_cause_is_right_and_the_applied_fix_compiles_nothing(
    name: str, in_notebook: Play
) -> None:
    one = TABLE[name]
    if not one.can_run:
        pytest.skip("its libraries are not installed")
    compiled = in_notebook(one.steps)
    assert one.cause.are_of(compiled.first), compiled.causes
    assert any(one.fix in cause.fix for cause in compiled.causes), compiled.causes
    if one.fixed is not None:
        assert in_notebook(one.fixed).causes == []


@pytest.mark.parametrize("name", WATCHED_LATE)
def test_a_script_that_watches_late_has_the_cause_or_says_that_it_is_unknown(name: str) -> None:
    one: Situation = TABLE[name]
    with unheard():
        compiled = in_script(one.steps)
    read = one.script.are_of(compiled.first) and _jax.traced_functions() is not None
    assert read or known_unknown(compiled.first), compiled.causes
    assert all("compilation 0" not in cause.text for cause in compiled.causes)
