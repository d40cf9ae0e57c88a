"""Classify each leaf of the user's values as traced or static."""

from __future__ import annotations

import enum
import math
import types
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxscope import words

_LARGEST_FLOAT = 3.4028235e38
"""Of float32."""


@dataclass(frozen=True, slots=True)
class Choice:
    """Whether a leaf is traced, and the reason in a few words."""

    traced: bool
    reason: str
    fresh: bool = False
    """Static, and copied for every trace: JAX caches some NumPy arrays by identity, with the values
    of the first time."""
    foreign: bool = False
    """An array of a different library, which JAX can only capture as a constant."""


def choose(value: Any, *, in_module: bool = False) -> Choice:
    """The block form's rule for one pytree leaf, by its type alone.

    With `in_module` it is one of an Equinox module, where `eqx.filter_jit` traces arrays alone:
    `eqx.nn.Dropout` asks whether its rate is 0.
    """
    if isinstance(value, (bool, np.bool_)):
        return Choice(False, "bool, so static")
    if isinstance(value, jax.Array):
        return Choice(True, "jax.Array")
    if isinstance(value, np.ndarray):
        return _numpy_array(value)
    if isinstance(value, (np.floating, np.complexfloating)):
        if not _is_numeric(value.dtype):
            return Choice(False, f"NumPy {value.dtype}, which JAX has no type for, so static")
        return Choice(True, f"NumPy {type(value).__name__}")
    if isinstance(value, (float, complex)) and not isinstance(value, enum.Enum):
        if in_module:
            kind = type(value).__name__
            return Choice(False, f"{kind} of an Equinox module, so static; -t traces it")
        parts = [part for part in (value.real, value.imag) if math.isfinite(part)]
        if not _x64() and any(abs(part) > _LARGEST_FLOAT for part in parts):
            return Choice(False, "beyond float32, so static; --x64 traces it")
        return Choice(True, f"Python {type(value).__name__}")
    if isinstance(value, (int, np.integer)):
        return Choice(False, f"{type(value).__name__}, so static; -t traces it")
    if _is_foreign_array(value):
        return Choice(False, f"{_kind(value)}, captured as a constant", foreign=True)
    return Choice(False, f"{_kind(value)}, so static")


def can_be_traced(value: Any) -> bool:
    """Whether `-t` may ask for this leaf."""
    if isinstance(value, (bool, int, np.bool_, np.integer)):
        return not isinstance(value, enum.Enum)
    return choose(value).traced


def aval_text(value: Any) -> str:
    """`float32[4,8]` for what JAX can type, else a short repr."""
    try:
        aval = jax.typeof(value)
    except Exception:
        return short_repr(value)
    return aval.str_short() if hasattr(aval, "str_short") else str(aval)


def short_repr(value: Any) -> str:
    """One line of `repr`, cut; a value whose repr fails is named by its type."""
    try:
        text = repr(value)
    except Exception:
        return f"<{type(value).__name__}>"
    return words.cut(" ".join(text.split()), 60)


def nbytes(value: Any) -> int | None:
    """Bytes on the device in JAX's own dtype, or None for what has none."""
    if isinstance(value, jax.Array):
        return int(value.nbytes)
    # JAX's own type of a captured NumPy array is no `np.ndarray` before 0.9.
    if not isinstance(value, (float, complex, int)) and not hasattr(value, "__array__"):
        return None
    try:
        aval = jax.typeof(value)
    except (TypeError, ValueError):
        return None
    return math.prod(aval.shape) * aval.dtype.itemsize


def check_range(path: str, value: Any) -> None:
    """Raise OverflowError if a 64-bit NumPy value would change when JAX makes it a 32-bit one."""
    if not isinstance(value, (np.ndarray, np.generic)) or _x64():
        return
    if value.dtype.itemsize < 8 or value.dtype.kind not in "iufc" or not value.size:
        return
    if value.dtype.kind in "iu":
        target = np.int32 if value.dtype.kind == "i" else np.uint32
        limits = np.iinfo(target)
        good = limits.min <= value.min() and value.max() <= limits.max
    else:
        target = np.float32
        with np.errstate(all="ignore"):
            array = np.asarray(value)
            largest = np.abs(array[np.isfinite(array)]).max(initial=0.0)
        good = not np.isfinite(largest) or largest <= np.finfo(target).max
    if not good:
        raise OverflowError(
            f"`{path}` has {value.dtype} values beyond {np.dtype(target).name}, JAX's widest type "
            "without 64-bit types. Run with --x64, or scale the values."
        )


def check_width(leaves: Iterable[tuple[str, Any]], codes: Iterable[types.CodeType | None]) -> None:
    """Raise OverflowError if the code enables 64-bit types, and a value is of 64 bits.

    Its tracer has 32 before the code runs; plain Python keeps the 64.
    """
    if _x64() or not any(_enables_x64(code) for code in codes if code is not None):
        return
    for path, value in leaves:
        if not isinstance(value, (np.ndarray, np.generic, float, complex)):
            continue
        given = np.result_type(value)
        made = jax.dtypes.canonicalize_dtype(given)
        if made != given:
            raise OverflowError(
                f"`{path}` is {given}, and JAX makes it {made} before the code enables 64-bit "
                "types. Run with --x64."
            )


def _enables_x64(code: types.CodeType) -> bool:
    if "enable_x64" in code.co_names or "jax_enable_x64" in code.co_consts:
        return True
    return any(_enables_x64(one) for one in code.co_consts if isinstance(one, types.CodeType))


def _x64() -> bool:
    return jax.dtypes.canonicalize_dtype(np.float64) == np.float64


def _numpy_array(value: np.ndarray) -> Choice:
    if type(value) is not np.ndarray:
        return Choice(
            False, f"{_kind(value)}, an array type that JAX does not know, so static", foreign=True
        )
    if not _is_numeric(value.dtype):
        return Choice(False, f"NumPy array of {value.dtype}, so static")
    return Choice(True, f"NumPy array of {value.dtype}")


def _is_numeric(dtype: np.dtype) -> bool:
    if dtype.kind in "biufc":
        return dtype not in (np.dtype(np.longdouble), np.dtype(np.clongdouble))
    return dtype.kind == "V" and bool(jnp.issubdtype(dtype, np.number))


def _is_foreign_array(value: Any) -> bool:
    kind = type(value)
    root = kind.__module__.partition(".")[0]
    if root in ("builtins", "jax", "jaxlib", "numpy"):
        return False
    return any(hasattr(kind, name) for name in ("__array__", "__dlpack__", "__dataframe__"))


def _kind(value: Any) -> str:
    if isinstance(value, types.ModuleType):
        return "a module"
    if isinstance(value, type):
        return "a class"
    if isinstance(value, (types.FunctionType, types.BuiltinFunctionType, types.MethodType)):
        return "a function"
    kind = type(value)
    root = kind.__module__.partition(".")[0]
    return kind.__name__ if root == "builtins" else f"{root}.{kind.__name__}"
