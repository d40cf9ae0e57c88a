"""What counts as an input: arrays of any framework, brought to NumPy and to one dtype."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

KEEP = "keep"
"""The dtype that leaves every input as it is."""

_NARROW = {
    "float64": "float32",
    "complex128": "complex64",
    "int64": "int32",
    "uint64": "uint32",
}
"""What JAX makes of 64-bit types while they are disabled."""

_COMPLEX = {"float16": "complex64", "bfloat16": "complex64", "float32": "complex64"}


def is_array(value: Any) -> bool:
    """Whether each contestant gets a copy of its own: NumPy, JAX and PyTorch arrays of numbers.

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
    """Whether it is a typed random key of JAX, which no other framework can be given."""
    return str(getattr(value, "dtype", "")).startswith("key<")


def holds_arrays(value: Any) -> bool:
    """Whether a container of Python holds arrays: these stay as they are, constants to a jit."""
    if isinstance(value, dict):
        return any(is_array(one) or holds_arrays(one) for one in value.values())
    if isinstance(value, list | tuple):
        return any(is_array(one) or holds_arrays(one) for one in value[:100])
    return False


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
    """The array in that dtype; complex stays complex, ints and bools stay what they are."""
    kind, name = array.dtype.kind, str(array.dtype)
    if dtype == KEEP:
        return array
    if kind == "c":
        wanted = _COMPLEX.get(dtype, "complex128")
        return array if name == wanted else array.astype(wanted)
    if kind == "f" or name.startswith(("bfloat", "float")):
        return array if name == dtype else array.astype(_dtype(dtype))
    return array


def narrowed(array: np.ndarray) -> np.ndarray:
    """The array as JAX takes it while 64-bit types are disabled."""
    wanted = _NARROW.get(str(array.dtype))
    return array if wanted is None else array.astype(wanted)


def _dtype(name: str) -> Any:
    import numpy as np

    if name == "bfloat16":
        import ml_dtypes  # JAX depends on it

        return ml_dtypes.bfloat16
    return np.dtype(name)


def itemsize(dtype: str) -> int:
    """Bytes of one number; generated inputs are float64 before they are cast."""
    return {"float16": 2, "bfloat16": 2, "float32": 4}.get(dtype, 8)
