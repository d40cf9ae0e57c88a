"""Contents of an object, of any class: its arrays and numbers, and the functions that it holds."""

from __future__ import annotations

import io
import pickle
import warnings
from types import FunctionType, ModuleType
from typing import Any

import jax
import jax.stages
import numpy as np

from jaxscope.capture.inputs import nnx

NUMBERS = (bool, int, float, complex, np.generic)

_FIXED = (
    jax.Device,
    jax.sharding.Mesh,
    jax.sharding.Sharding,
    jax.stages.Compiled,
    jax.stages.Lowered,
    jax.stages.Traced,
)


class Contents(pickle.Pickler):
    """Arrays, numbers and functions inside a value, in the order in which pickle visits them.

    Pickle finds the state of an object as `copy.deepcopy` does. Raises what pickling raises.
    """

    def __init__(self, value: Any) -> None:
        super().__init__(io.BytesIO())
        self.leaves: list[Any] = []
        self.code: list[Any] = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.dump(value)

    def persistent_id(self, obj: Any) -> int | None:
        is_array = isinstance(obj, np.ndarray) and not obj.dtype.hasobject
        if is_array or isinstance(obj, (jax.Array, *NUMBERS)):
            self.leaves.append(obj)
            return 0
        if is_code(obj):
            self.code.append(obj)
            return 0
        return None


def is_code(value: Any) -> bool:
    """Whether a trial shares the value, because nothing can change it in place: a module, a class,
    a function, a jitted or compiled one, a device, a mesh or a sharding."""
    if isinstance(value, (ModuleType, FunctionType, type, *_FIXED)):
        return True
    jitted = hasattr(value, "lower") and not nnx.is_nnx(value)
    return callable(value) and (not hasattr(value, "__dict__") or jitted)
