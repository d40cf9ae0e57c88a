"""Inputs: arrays of any framework, converted to NumPy and to one dtype for all."""

from __future__ import annotations

import importlib
import sys
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

from jaxscope import words
from jaxscope.bench.cell.sections import CellError
from jaxscope.capture.inputs.nnx import is_nnx

if TYPE_CHECKING:
    import numpy as np

KEEP = "keep"
"""The dtype that leaves every input unchanged."""

DTYPES = ("float16", "bfloat16", "float32", "float64", KEEP)

_NARROW = {"float64": "float32", "complex128": "complex64", "int64": "int32", "uint64": "uint32"}
"""JAX's replacements of 64-bit types while these are disabled."""

_COMPLEX = {"float16": "complex64", "bfloat16": "complex64", "float32": "complex64"}


def is_array(value: Any) -> bool:
    """Whether each implementation gets a copy of its own: NumPy, JAX and PyTorch arrays of numbers.

    Looks only at frameworks that are loaded: a value cannot be of one that is not.
    """
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, numpy.ndarray | numpy.generic):
        return _is_numeric(value.dtype)
    jax = sys.modules.get("jax")
    if jax is not None and isinstance(value, getattr(jax, "Array", ())):
        return not isinstance(value, jax.core.Tracer) and _is_numeric(value.dtype)
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, getattr(torch, "Tensor", ()))


def is_random_key(value: Any) -> bool:
    """Whether it is a typed random key of JAX, which no other framework accepts."""
    return str(getattr(value, "dtype", "")).startswith("key<")


def holds_arrays(value: Any) -> bool:
    """Whether a container or a model holds arrays, which are constants to a jit."""
    if isinstance(value, dict):
        return any(is_array(one) or holds_arrays(one) for one in value.values())
    if isinstance(value, list | tuple):
        return any(is_array(one) or holds_arrays(one) for one in value[:100])
    return is_nnx(value) or any(is_array(one) for one in _children(value))


def _children(value: Any) -> list[Any]:
    """The leaves of a model that is a pytree, such as Equinox's; none of any other value."""
    jax = sys.modules.get("jax")
    if jax is None or isinstance(value, type | FunctionType | ModuleType):
        return []
    try:
        return [one for one in jax.tree_util.tree_leaves(value) if one is not value]
    except Exception:  # a flattening of the user's own that raises
        return []


def _is_numeric(dtype: Any) -> bool:
    """Numbers and bools, also those of ml_dtypes (bfloat16), whose kind NumPy calls void."""
    kind = getattr(dtype, "kind", "")
    return kind in tuple("biufc") or (
        kind == "V" and str(dtype).startswith(("bfloat", "float", "int"))
    )


def to_numpy(value: Any) -> np.ndarray:
    """The array as NumPy's, sharing memory where it can."""
    import numpy as np

    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, getattr(torch, "Tensor", ())):
        return value.detach().cpu().resolve_conj().resolve_neg().numpy()
    return np.asarray(value)


def cast(array: np.ndarray, dtype: str) -> np.ndarray:
    """The array in that dtype; complex stays complex, ints and bools are unchanged."""
    kind, name = array.dtype.kind, str(array.dtype)
    if dtype == KEEP:
        return array
    if kind == "c":
        wanted = _COMPLEX.get(dtype, "complex128")
        return array if name == wanted else array.astype(wanted)
    if kind == "f" or name.startswith(("bfloat", "float")):
        importlib.import_module("ml_dtypes")  # JAX depends on it; it registers bfloat16

        return array if name == dtype else array.astype(dtype)
    return array


def narrowed(array: np.ndarray) -> np.ndarray:
    """The array in the dtype that JAX gives it while 64-bit types are disabled."""
    wanted = _NARROW.get(str(array.dtype))
    return array if wanted is None else array.astype(wanted)


class Casting:
    """Converts arrays of any framework to NumPy and to the requested dtype.

    Without one, 64-bit arrays become 32-bit while JAX takes part with 64-bit types disabled: JAX
    would convert them itself, and the others would then do different work.
    """

    def __init__(self, dtype: str | None, uses_jax: bool) -> None:
        if dtype is not None and dtype not in DTYPES:
            raise CellError(f"There is no dtype {dtype!r}. Give one of {', '.join(DTYPES)}.")
        self._dtype = dtype
        self._uses_jax = uses_jax
        self._narrowed: dict[str, str] = {}

    def __call__(self, name: str, given: Any, generated: bool = False) -> Any:
        """The value as the implementations get it; Python's own numbers stay unchanged.

        The dtype of a `generated` array is not the user's choice, so changing it needs no note.
        """
        if not is_array(given):
            return given
        array = to_numpy(given)
        if self._dtype is not None:
            return cast(array, self._dtype)
        if not self._uses_jax or _x64():
            return array
        narrow = narrowed(array)
        if narrow is not array and not generated:
            self._narrowed[name] = str(array.dtype)
        return narrow

    @property
    def notes(self) -> tuple[str, ...]:
        """The conversions that were made, as sentences."""
        found: list[str] = []
        if self._narrowed:
            what = words.listed([f"`{name}` ({was})" for name, was in self._narrowed.items()])
            verb = "was" if len(self._narrowed) == 1 else "were"
            found.append(
                f"{what} {verb} converted to 32 bits for all, because JAX has 64-bit types "
                "disabled. `--x64` enables them; `--dtype keep` keeps the inputs as they are."
            )
        if self._dtype == "float64" and self._uses_jax and not _x64():
            found.append(
                "JAX has 64-bit types disabled and computes in float32. `--x64` enables them."
            )
        return tuple(found)


def _x64() -> bool:
    jax = sys.modules.get("jax")
    return bool(jax is not None and jax.config.jax_enable_x64)
