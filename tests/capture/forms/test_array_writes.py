"""Changes of NumPy arrays that a tracer answers with a copy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.core import Tracer

from jaxscope.capture.forms.array_writes import ArrayWrite, writes_noted

pytestmark = pytest.mark.jax


def traced(function: Callable[[Any], Any], array: Any) -> list[ArrayWrite]:
    """The changes of the array, as `function` is traced with it."""
    given: list[Any] = []

    def original(value: Any) -> Any:
        return array if given and value is given[0] else value

    def program(value: Any) -> Any:
        given.append(value)
        with writes_noted(original, lambda value: "a", __file__) as found:
            function(value)
        writes.extend(found)
        return value

    writes: list[ArrayWrite] = []
    jax.jit(program).trace(array)
    return writes


def subtract(a: Any) -> None:
    a -= 1


def sort(a: Any) -> None:
    a.sort()


def change_row(a: Any) -> None:
    row = a[0]
    row *= 2


def change_rows(a: Any) -> None:
    for row in a:
        row += 1


@pytest.mark.parametrize(
    ("function", "how"),
    [(subtract, "-="), (sort, "sort"), (change_row, "*="), (change_rows, "+=")],
)
def test_a_change_of_the_array_is_noted_once_a_statement(
    function: Callable[[Any], None], how: str
) -> None:
    writes = traced(function, np.ones((1, 3), np.float32))
    assert [write.how for write in writes] == [how]
    assert writes[0].line is not None


def test_an_array_of_jax_is_bound_anew() -> None:
    assert traced(subtract, jnp.ones((1, 3))) == []


def change_a_copy(a: Any) -> None:
    copy = a[np.array([0])]
    copy += 1
    total = a.sum()
    total += 1
    made = a * 2
    made -= 1
    item = a[0, 0]
    item *= 2


def test_what_numpy_copies_is_no_part_of_the_array() -> None:
    assert traced(change_a_copy, np.ones((2, 3), np.float32)) == []


def test_an_array_without_dimensions_is_no_iterable_and_tracers_are_as_before() -> None:
    hooked = ("__getitem__", "__iter__", "__iadd__", "sort")
    before = {name: vars(Tracer).get(name) for name in hooked}

    def ask(a: Any) -> None:
        with pytest.raises(TypeError):
            iter(a)

    assert traced(ask, np.float32(1.0) * np.ones(())) == []
    assert {name: vars(Tracer).get(name) for name in hooked} == before
