"""One trace of the user's code: what it may not change or keep is checked, and put back."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, MutableMapping
from contextlib import contextmanager
from types import CodeType
from typing import Any, NamedTuple

import numpy as np

from jaxscope.analysis.python.cell import CellSyntax
from jaxscope.capture.forms.reads import MISSING, Reads
from jaxscope.capture.forms.side_effects import imports_run_eagerly, noted
from jaxscope.capture.inputs.mutation import contents, find_tracer, same_contents
from jaxscope.capture.inputs.pytrees import Copies
from jaxscope.capture.options.error_origin import calls_user_code
from jaxscope.capture.options.refusals import (
    assigns_global,
    changed_in_place,
    keeps_results,
    swallowed,
)


class Trial:
    """Values that the code can reach, snapshotted before the trace to find and undo changes."""

    def __init__(self, reads: Reads, syntax: CellSyntax, file: str) -> None:
        """`file` is that of the code, in which the lines of errors are looked up."""
        self.reads = reads
        self._syntax = syntax
        self._file = file
        stored = [change.name for change in syntax.changes if change.how == "attribute"]
        self._snapshot = reads.snapshot(stored)
        self.earlier = reads.contents()
        """Contents of modules, classes and closure cells, by identity."""

    @contextmanager
    def running(
        self, copies: Copies, scopes: Iterable[MutableMapping[str, Any]], *, binds: bool
    ) -> Generator[None]:
        """Trace the user's code inside this block; the scopes are bound as before afterwards.

        Raises RefusedError for changes in place and, unless the code `binds` names of the scopes,
        for names that it has assigned.
        """
        held = [(made, contents(made), path) for made, path in copies]
        before = [(scope, dict(scope)) for scope in scopes]
        assigned = None
        swapped = self._fresh_arrays(copies)
        try:
            with self._snapshot.arrays_locked(), imports_run_eagerly(), noted(self._file) as caught:
                yield
        finally:
            for place, made, array in swapped:
                place.put_back(made, array)
            for scope, names in before:
                assigned = assigned or _difference(names, scope)
                restore(scope, names)
            changes = self._snapshot.changes()
            self._snapshot.restore()
        kept = self._cleared()
        if kept is not None:
            raise keeps_results(kept, self._syntax)
        if caught:
            raise swallowed(caught[0])
        changed = [(change.path, change.container) for change in changes] + [
            (path, made) for made, was, path in held if not same_contents(was, contents(made))
        ]
        if changed:
            raise changed_in_place(*changed[0], self._syntax)
        if assigned is not None and not binds:
            raise assigns_global(assigned)

    def _fresh_arrays(self, copies: Copies) -> list[tuple[_Place, np.ndarray, np.ndarray]]:
        """Bind copies of the NumPy arrays that code reads as globals or from closures.

        JAX keeps the converted values of an array by its identity, so that a trace would see the
        values of an earlier one.
        """
        places = [
            (_Place(scope, name), value)
            for scope, name, value in self.reads.bindings
            if type(value) is np.ndarray and isinstance(scope, dict)
        ]
        places += [(_Place(cell), v) for cell, v in self.reads.cells if type(v) is np.ndarray]
        swapped: list[tuple[_Place, np.ndarray, np.ndarray]] = []
        for place, array in places:
            made = copies.made(array)
            if made is None:
                made = array.copy()
                made.flags.writeable = False
                copies.add(made, array, place.name)
            place.bind(made)
            swapped.append((place, made, array))
        return swapped

    def _cleared(self) -> str | None:
        """The name of a cached helper that got tracers; its cache is cleared."""
        for name, cached in self.reads.caches:
            if find_tracer(cached):
                cached.cache_clear()
                return name
        return None


class _Place(NamedTuple):
    """A name of a scope, or a closure cell."""

    holder: Any
    name: str = ""

    def bind(self, value: Any) -> None:
        if self.name:
            self.holder[self.name] = value
        else:
            self.holder.cell_contents = value

    def put_back(self, made: Any, value: Any) -> None:
        """Bind the value, unless the code has bound something else."""
        if self.name and self.holder.get(self.name) is not made:
            return
        if self.name or self.holder.cell_contents is made:
            self.bind(value)


@calls_user_code
def execute(code: tuple[CodeType, CodeType | None], namespace: MutableMapping[str, Any]) -> Any:
    """Run the statements of a cell, then its last expression; the value of that."""
    __tracebackhide__ = True
    exec(code[0], namespace)  # type: ignore[arg-type]
    return None if code[1] is None else eval(code[1], namespace)  # type: ignore[arg-type]


def restore(namespace: MutableMapping[str, Any], before: Mapping[str, Any]) -> None:
    """Bind every name of the namespace as before."""
    for name in namespace.keys() - before.keys():
        del namespace[name]
    for name, value in before.items():
        if namespace.get(name, MISSING) is not value:
            namespace[name] = value


def _difference(before: Mapping[str, Any], now: Mapping[str, Any]) -> str | None:
    """The first name that is bound differently."""
    for name in (*before, *now):
        if before.get(name, MISSING) is not now.get(name, MISSING):
            return name
    return None
