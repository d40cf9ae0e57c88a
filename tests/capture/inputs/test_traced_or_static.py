"""Which inputs are traced, by their type, and the bytes that they take on the device."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxscope.capture import _jax
from jaxscope.capture.inputs.traced_or_static import aval_text, choose, nbytes


@pytest.mark.parametrize(
    ("value", "traced", "size"),
    [
        (jnp.ones(3), True, 12),
        (np.ones(3), True, 12),  # float32 to JAX
        (np.float64(1), True, 4),
        (1.5, True, 4),
        (1j, True, 8),
        (2, False, 4),
        ("text", False, None),
        (None, False, None),
    ],
)
def test_numbers_are_traced_except_integers(value: Any, traced: bool, size: int | None) -> None:
    assert choose(value).traced is traced
    assert nbytes(value) == size


def test_a_constant_captured_with_64_bits_has_all_its_bytes() -> None:
    with jax.enable_x64(True):
        made = jax.make_jaxpr(lambda: jnp.asarray(np.ones(3)) * 2)()
    (constant,) = _jax.constants_in(made)
    assert aval_text(constant) == "float64[3]"
    assert nbytes(constant) == 24
