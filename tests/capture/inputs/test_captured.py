"""The variables that hold captured arrays, found by identity."""

from __future__ import annotations

import functools
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxscope.capture import _jax
from jaxscope.capture.inputs.captured import variables_of

TABLE = jnp.ones((2, 2))


def closed_over() -> tuple[Any, Any]:
    held = jnp.zeros(3)
    return held, lambda x: held * x


def jitted_inside() -> tuple[Any, Any]:
    held, f = closed_over()
    inner = jax.jit(jax.vmap(f))
    return held, lambda x: inner(x) + 1


def in_a_dict() -> tuple[Any, Any]:
    params = {"w": [jnp.zeros(3), np.ones(3)]}
    return params["w"][1], lambda x: params["w"][1] * x


def of_a_method() -> tuple[Any, Any]:
    class Model:
        def __init__(self) -> None:
            self.w = jnp.zeros(3)

        def apply(self, x: Any) -> Any:
            return self.w * x

    model = Model()
    return model.w, model.apply


def a_ref() -> tuple[Any, Any]:
    held = jax.new_ref(jnp.zeros(3))
    return held, lambda x: held[...] * x


def of_a_partial() -> tuple[Any, Any]:
    held = jnp.zeros(3)
    return held, functools.partial(lambda x, scale: x * scale, scale=held)


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: (TABLE, lambda x: TABLE @ x), "TABLE"),
        (closed_over, "held"),
        (jitted_inside, "held"),
        (in_a_dict, "params['w'][1]"),
        (of_a_method, "self.w"),
        (a_ref, "held"),
        (of_a_partial, "scale"),
        (lambda: (jnp.zeros(3), lambda x: x), None),
    ],
)
def test_an_array_has_the_name_by_which_the_function_reads_it(make: Any, name: str | None) -> None:
    array, function = make()
    assert variables_of([array], function, {}).get(_jax.array_key(array)) == name


def test_a_name_of_the_namespace_comes_last_and_the_history_never() -> None:
    array = jnp.zeros(3)
    names = {"_3": array, "Out": {3: array}, "model": SimpleNamespace(w=array)}
    key = _jax.array_key(array)
    assert variables_of([array], None, names) == {key: "model.w"}
    held = array
    assert variables_of([array], lambda: held, {**names, "x": array}) == {key: "held"}


def test_only_so_many_values_are_looked_into() -> None:
    array = jnp.zeros(3)
    long = [*range(1_000_000), array]
    assert variables_of([array], None, {"long": long, "x": array}) == {_jax.array_key(array): "x"}


def test_a_variable_of_a_library_has_no_name() -> None:
    array = jnp.zeros(3)
    library = SimpleNamespace(_weights=array)
    assert variables_of([array], library, {"f": library}) == {}
