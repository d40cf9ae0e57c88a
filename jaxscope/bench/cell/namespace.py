"""The global names of timed code: the user's, the sizes, the inputs and those of the set-up."""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping, Sequence
from types import FunctionType, ModuleType
from typing import Any

from jaxscope import words
from jaxscope.analysis.python.cell import CellSyntax
from jaxscope.bench.cell import arrays
from jaxscope.bench.cell.inputs import MAKERS, BenchRequest, check, estimated_bytes, makers, value
from jaxscope.bench.cell.timed_code import usual
from jaxscope.capture.devices import memory
from jaxscope.capture.inputs.mutation import Snapshot
from jaxscope.capture.inputs.nnx import is_nnx

_CODE = (FunctionType, ModuleType, type)


def mutable_state(names: Mapping[str, Any], read: Collection[str]) -> Snapshot:
    """The contents of what timed code may change: all Flax NNX objects, which functions can read
    as globals, and the containers and objects whose names the code itself reads."""
    state = Snapshot()
    for name, held in names.items():
        if is_nnx(held) or (name in read and not isinstance(held, _CODE)):
            state.keep(held)
    return state


class CellNamespace:
    """The names of one size at a time. The user's namespace is read and never written.

    The set-up runs once per size, in a copy of the namespace.
    """

    def __init__(
        self,
        namespace: Mapping[str, Any],
        request: BenchRequest,
        setup: Sequence[ast.Module] = (),
        file: str = "<cell>",
        uses_jax: bool = True,
    ) -> None:
        self._namespace = namespace
        self._request = request
        self._setup = tuple([compile(tree, file, "exec") for tree in setup])
        self.reads = {
            *(name for tree in setup for name in CellSyntax(tree).reads),
            *(name for one in request.inputs for name in one.reads),
        }
        self._names: dict[str, Any] = {}
        self._size: Mapping[str, Any] | None = None
        # What the line sets to plain numbers, such as `n=1000`, are not inputs.
        self._scalars = {
            one.name
            for one in request.inputs
            if isinstance(ast.parse(one.text.strip(), mode="eval").body, ast.Constant)
        }
        self._declared = tuple(
            [given.name for given in request.inputs if given.name not in self._scalars]
        )
        self.casting = arrays.Casting(request.dtype, uses_jax)

    def names(self, size: Mapping[str, Any]) -> dict[str, Any]:
        """All names at this size. Raises exceptions of the set-up, and CellError for an input."""
        if self._size == dict(size):
            return self._names
        # Release the arrays of the last size before those of the next one are created.
        self._size, self._names = None, {}
        names = {**usual(self.reads if self._setup else (), self._namespace), **self._namespace}
        names |= size
        # A size that the user calls `normal` takes precedence over the maker.
        known = {**makers(self._request.seed), **names}
        for given in self._request.inputs:
            names[given.name] = known[given.name] = value(given, known)
        for code in self._setup:
            exec(code, names)
        self._size, self._names = dict(size), names
        return names

    def outline(self, size: Mapping[str, Any]) -> Mapping[str, Any]:
        """The names at this size, without the line's inputs unless the set-up needs their values.

        A size that is too large can then still be planned, and skipped. Raises CellError for an
        input that is not defined, and MemoryError when the set-up needs inputs that do not fit.
        """
        given: list[str] = []
        for one in self._request.inputs:
            check(one, [*MAKERS, *self._namespace, *size, *given])
            given.append(one.name)
        if not self._setup:
            known: dict[str, Any] = {**self._namespace, **size}
            for one in self._request.inputs:
                if one.name in self._scalars:
                    known[one.name] = value(one, known)
            return known
        import jax

        needed, free = (
            self.estimated_bytes(size),
            memory.free_bytes(jax.local_devices(backend="cpu")[0]),
        )
        if free is not None and needed > free:
            raise MemoryError(
                f"The inputs would take about {words.size(needed)}, but only {words.size(free)} "
                "are free. Use smaller --sizes."
            )
        return self.names(size)

    def array_names(self, size: Mapping[str, Any]) -> tuple[str, ...]:
        """Names of inputs: those on the line first, except plain numbers, then arrays."""
        found = [
            name
            for name, one in self.outline(size).items()
            if not name.startswith("_") and name not in self._declared and arrays.is_array(one)
        ]
        return (*self._declared, *found)

    def inputs(self, size: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
        """The inputs as NumPy arrays of the requested dtype; numbers stay numbers."""
        found = self.names(size)
        return {
            name: self.casting(name, found[name], generated=name in self._declared)
            for name in names
        }

    def estimated_bytes(self, size: Mapping[str, Any]) -> int:
        """The memory of the line's inputs before they are cast, from their shapes alone."""
        known = {**{k: v for k, v in self._namespace.items() if isinstance(v, int | float)}, **size}
        return sum(estimated_bytes(given, known, 8) for given in self._request.inputs)
