"""The names that timed code finds: the user's, the sizes, the inputs, and what the set-up made."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any

from jaxscope import words
from jaxscope.analysis.python.names import read_before_assigned
from jaxscope.bench.cell import arrays
from jaxscope.bench.cell.casting import Casting
from jaxscope.bench.cell.inputs import MAKERS, Spec, check, estimated_bytes, makers, value
from jaxscope.bench.cell.request import Request
from jaxscope.capture.devices import memory


class Surroundings:
    """Makes the names of one size at a time; the namespace of the user is read and never written.

    The set-up runs for each size, in a copy of the namespace.
    """

    def __init__(
        self,
        namespace: Mapping[str, Any],
        request: Request,
        setup: Sequence[ast.Module] = (),
        file: str = "<cell>",
        has_jax: bool = True,
    ) -> None:
        self._namespace = namespace
        self._request = request
        self._setup = tuple([compile(tree, file, "exec") for tree in setup])
        self.reads = {
            *(name for tree in setup for name in read_before_assigned(tree)),
            *(name for one in request.inputs for name in one.reads),
        }
        self._names: dict[str, Any] = {}
        self._size: Mapping[str, Any] | None = None
        self._scalars = _scalars(request.inputs)
        self._declared = tuple(
            [given.name for given in request.inputs if given.name not in self._scalars]
        )
        self.casting = Casting(request.dtype, has_jax)

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

    def outline(self, size: Mapping[str, Any]) -> Mapping[str, Any]:
        """The names at this size, without the line's inputs where nothing needs their values.

        So a size that is too large can still be planned for, and skipped. Raises CellError for an
        input that can never be made, and MemoryError when the set-up needs inputs that do not fit.
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
        needed, free = self.estimated_bytes(size), _free_bytes()
        if free is not None and needed > free:
            raise MemoryError(
                f"The inputs would take about {words.size(needed)}, and {words.size(free)} are "
                "free. Give smaller --sizes."
            )
        return self.names(size)

    def array_names(self, size: Mapping[str, Any]) -> tuple[str, ...]:
        """Names of inputs: those on the line first, plain numbers left out, then arrays."""
        found = [
            name
            for name, one in self.outline(size).items()
            if not name.startswith("_") and name not in self._declared and arrays.is_array(one)
        ]
        return (*self._declared, *found)

    def inputs(self, size: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
        """The inputs as NumPy arrays of the dtype that was asked for; numbers stay numbers."""
        found = self.names(size)
        return {
            name: self.casting(name, found[name], generated=name in self._declared)
            for name in names
        }

    def estimated_bytes(self, size: Mapping[str, Any]) -> int:
        """What the line's inputs will take before they are cast, from their shapes alone."""
        known = {**{k: v for k, v in self._namespace.items() if isinstance(v, int | float)}, **size}
        return sum(estimated_bytes(given, known, 8) for given in self._request.inputs)


def _scalars(given: Sequence[Spec]) -> frozenset[str]:
    """Names that the line gives plain numbers, such as `n=1000`: they are no inputs."""
    return frozenset(
        [
            one.name
            for one in given
            if isinstance(ast.parse(one.text.strip(), mode="eval").body, ast.Constant)
        ]
    )


def _free_bytes() -> int | None:
    import jax

    return memory.free_bytes(jax.devices("cpu")[0])
