"""Inputs as they are typed, and what of the namespace counts as one."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxscope.bench.cell import arrays
from jaxscope.bench.cell.arrays import Casting
from jaxscope.bench.cell.inputs import estimated_bytes, makers, spec, value
from jaxscope.bench.cell.sections import CellError


def make(text: str, **names: object) -> np.ndarray:
    return value(spec("x", text), {**makers(0), **names})


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("normal(n, 3)", (4, 3)),
        ("uniform(n)", (4,)),
        ("complex_normal(n)", (4,)),
        ("integers(0, 9, n, 2)", (4, 2)),
        ("ones(n)", (4,)),
        ("zeros()", ()),
        ("arange(n)", (4,)),
        ("linspace(0, 1, n)", (4,)),
        ("eye(n)", (4, 4)),
        ("normal(n, n) @ eye(n)", (4, 4)),
        ("ones(0)", (0,)),
    ],
)
def test_makers_give_arrays_of_the_size(text: str, shape: tuple[int, ...]):
    assert make(text, n=4).shape == shape


def test_random_inputs_are_the_same_in_every_run():
    assert np.array_equal(make("normal(n)", n=5), make("normal(n)", n=5))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("normal(n, n)", 8 * 10**10),
        ("complex_normal(n)", 16 * 10**5),
        ("integers(0, 9, n)", 8 * 10**5),
        ("arange(0, n, 2)", 8 * 5 * 10**4),
        ("eye(n)", 8 * 10**10),
        ("a[:n]", 0),
    ],
)
def test_what_an_input_will_take_is_known_before_it_is_made(text: str, expected: int):
    assert estimated_bytes(spec("x", text), {"n": 10**5}, 8) == expected


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("nrmal(n)", "needs `nrmal`, which is not defined.* Did you mean `normal`?"),
        ("normal(k)", "needs `k`.* If it is a size, add --sizes k=100."),
        ("normal(-1)", "`x=normal.-1.` raised ValueError"),
        ("normal(n", "is not a Python expression"),
    ],
)
def test_an_input_that_cannot_be_made_says_why(text: str, says: str):
    with pytest.raises(CellError, match=says):
        make(text, n=2)


def test_arrays_of_numbers_are_inputs_and_nothing_else_is():
    assert arrays.is_array(np.ones(2))
    assert arrays.is_array(np.float32(1))
    assert arrays.is_array(jnp.ones(2, jnp.bfloat16))
    assert not arrays.is_array(np.array(["a"]))
    assert not arrays.is_array(jax.random.key(0))
    assert not arrays.is_array(1.0)
    assert arrays.holds_arrays({"w": [jnp.ones(1)]})
    assert not arrays.holds_arrays([1, 2])


def test_arrays_of_64_bits_are_narrowed_beside_jax_with_a_note():
    casting = Casting(None, uses_jax=True)
    assert casting("x", np.ones(2)).dtype == np.float32
    assert casting("k", np.arange(2)).dtype == np.int32
    assert casting("g", np.ones(2), generated=True).dtype == np.float32
    assert casting("n", 3) == 3
    (note,) = casting.notes
    assert note.startswith("`x` (float64) and `k` (int64) were converted to 32 bits for all")


def test_without_jax_or_with_a_dtype_nothing_is_narrowed_silently():
    assert Casting(None, uses_jax=False)("x", np.ones(2)).dtype == np.float64
    assert Casting("keep", uses_jax=True)("x", np.ones(2)).dtype == np.float64
    assert Casting("float16", uses_jax=True)("x", np.ones(2)).dtype == np.float16
    assert Casting("float32", uses_jax=True)("x", np.ones(2, complex)).dtype == np.complex64
    assert Casting("float32", uses_jax=True)("x", np.arange(2)).dtype == np.int64
    (note,) = Casting("float64", uses_jax=True).notes
    assert "computes in float32. `--x64`" in note
    with pytest.raises(CellError, match="There is no dtype 'float'"):
        Casting("float", uses_jax=True)
