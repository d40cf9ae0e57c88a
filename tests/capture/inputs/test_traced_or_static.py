"""Which inputs are traced, by their type, and the bytes that they take on the device."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from jaxscope.capture.inputs.traced_or_static import choose, nbytes


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
