"""Whether a package that the user's code calls is written for JAX."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest
import scipy.linalg

from jaxscope.capture.source.packages import calling_packages, package_without_jax


def own(x: Any) -> Any:
    return x


@pytest.mark.parametrize(
    ("function", "package"),
    [(np.linalg.norm, "numpy"), (jax.jit, ""), (scipy.linalg.norm, "scipy"), (own, ""), (3, "")],
)
def test_a_package_without_jax_is_named(function: Any, package: str) -> None:
    assert package_without_jax(function) == package


@pytest.mark.parametrize(
    ("call", "packages"),
    [(lambda x: np.asarray(x), ("", "")), (lambda x: scipy.linalg.norm(x), ("scipy", "scipy"))],
)
def test_the_package_that_asks_is_the_last_that_is_no_array_library(
    call: Callable[[Any], Any], packages: tuple[str, str]
) -> None:
    with pytest.raises(TypeError) as caught:
        jax.jit(call).trace(1.0)
    assert calling_packages(caught.value) == packages
