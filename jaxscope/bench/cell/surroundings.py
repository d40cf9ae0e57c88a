"""The names that timed code finds: the user's, the sizes, the inputs, and what the set-up made."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from types import CodeType
from typing import Any

from jaxscope.bench.cell import arrays
from jaxscope.bench.cell.inputs import estimated_bytes, makers, value
from jaxscope.bench.cell.request import Request


class Surroundings:
    """Makes the names of one size at a time; the namespace of the user is read and never written.

    The set-up runs for each size, in a copy of the namespace.
    """

    def __init__(
        self,
        namespace: Mapping[str, Any],
        request: Request,
        setup: Sequence[CodeType] = (),
        has_jax: bool = True,
    ) -> None:
        self._namespace = namespace
        self._request = request
        self._setup = tuple(setup)
        self._has_jax = has_jax
        self._names: dict[str, Any] = {}
        self._size: Mapping[str, Any] | None = None
        self.narrowed: dict[str, str] = {}
        """Inputs that were cast to 32 bits, and what they were."""

    def names(self, size: Mapping[str, Any]) -> dict[str, Any]:
        """All names at this size. Raises what the set-up raises, and CellError for an input."""
        if self._size == dict(size):
            return self._names
        # Before the next size's arrays are made, the last one's must be free to go.
        self._size, self._names = None, {}
        names = dict(self._namespace)
        names |= size
        # A size of the user's own that is called `normal` comes first.
        known = {**makers(self._request.seed), **names}
        for given in self._request.inputs:
            names[given.name] = known[given.name] = value(given, known)
        for code in self._setup:
            exec(code, names)
        self._size, self._names = dict(size), names
        return names

    def array_names(self, size: Mapping[str, Any]) -> tuple[str, ...]:
        """Names of inputs: those on the line first, whatever they are, then arrays."""
        declared = [given.name for given in self._request.inputs]
        found = [
            name
            for name, one in self.names(size).items()
            if not name.startswith("_") and name not in declared and arrays.is_array(one)
        ]
        return (*declared, *found)

    def inputs(self, size: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
        """The inputs as NumPy arrays of the dtype that was asked for; numbers stay numbers."""
        found = self.names(size)
        return {name: self._cast(name, found[name]) for name in names}

    def _cast(self, name: str, given: Any) -> Any:
        if not arrays.is_array(given):
            return given
        array = arrays.to_numpy(given)
        if self._request.dtype is not None:
            return arrays.cast(array, self._request.dtype)
        if not self._has_jax or _x64():
            return array
        narrow = arrays.narrowed(array)
        # What the line makes has no dtype of its own that anybody chose.
        if narrow is not array and all(given.name != name for given in self._request.inputs):
            self.narrowed[name] = str(array.dtype)
        return narrow

    def estimated_bytes(self, size: Mapping[str, Any]) -> int:
        """What the line's inputs will take before they are cast, from their shapes alone."""
        known = {**{k: v for k, v in self._namespace.items() if isinstance(v, int | float)}, **size}
        return sum(estimated_bytes(given, known, 8) for given in self._request.inputs)


def _x64() -> bool:
    jax = sys.modules.get("jax")
    return bool(jax is not None and jax.config.jax_enable_x64)
