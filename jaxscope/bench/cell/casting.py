"""Inputs in one dtype for all, so that no contestant computes with more digits than another."""

from __future__ import annotations

import sys
from typing import Any

from jaxscope.bench.cell import arrays
from jaxscope.bench.cell.sections import CellError, listing

DTYPES = ("float16", "bfloat16", "float32", "float64", arrays.KEEP)


class Casting:
    """Brings arrays of any framework to NumPy and to the dtype that was asked for.

    Without one, 64-bit arrays become 32-bit ones while JAX takes part with 64-bit types disabled:
    JAX would do so itself, and then the others would do another work.
    """

    def __init__(self, dtype: str | None, has_jax: bool) -> None:
        if dtype is not None and dtype not in DTYPES:
            raise CellError(f"There is no dtype {dtype!r} here; give one of {', '.join(DTYPES)}.")
        self._dtype = dtype
        self._has_jax = has_jax
        self._narrowed: dict[str, str] = {}

    def __call__(self, name: str, given: Any, generated: bool = False) -> Any:
        """The value as it goes in; numbers of Python stay what they are.

        A `generated` array has no dtype that anybody chose, so nothing is said of its change.
        """
        if not arrays.is_array(given):
            return given
        array = arrays.to_numpy(given)
        if self._dtype is not None:
            return arrays.cast(array, self._dtype)
        if not self._has_jax or _x64():
            return array
        narrow = arrays.narrowed(array)
        if narrow is not array and not generated:
            self._narrowed[name] = str(array.dtype)
        return narrow

    @property
    def notes(self) -> tuple[str, ...]:
        """What was done, as sentences for the reader of the table."""
        found: list[str] = []
        if self._narrowed:
            what = listing([f"`{name}` ({was})" for name, was in self._narrowed.items()], "and")
            found.append(
                f"{what} went in 32 bits wide for every contestant, as JAX has 64-bit types "
                "disabled; `--dtype keep` leaves them as they are, `--x64` enables them."
            )
        if self._dtype == "float64" and self._has_jax and not _x64():
            found.append(
                "JAX has 64-bit types disabled and computes in float32 here; `--x64` enables them."
            )
        return tuple(found)


def _x64() -> bool:
    jax = sys.modules.get("jax")
    return bool(jax is not None and jax.config.jax_enable_x64)
