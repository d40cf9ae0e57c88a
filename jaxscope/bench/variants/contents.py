"""Contents of an object, of any class: its arrays and numbers, and the functions that it holds."""

from __future__ import annotations

import io
import pickle
import warnings
from types import FunctionType, ModuleType
from typing import Any

import jax
import numpy as np

NUMBERS = (bool, int, float, complex, np.generic)


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
    """Whether the value is a module, a class, a function or a jitted one: a trial shares it."""
    return isinstance(value, ModuleType | FunctionType | type) or (
        callable(value) and (not hasattr(value, "__dict__") or hasattr(value, "lower"))
    )
