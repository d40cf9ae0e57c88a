"""A section made into the function that is timed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from jaxscope.bench.cell.body import TIMED, Body
from jaxscope.bench.cell.sections import SHARED


class Timed:
    """Holds the function of one section and the global names that it sees."""

    def __init__(self, body: Body, parameters: Sequence[str], shared: bool, file: str) -> None:
        self.namespaced = shared
        self._globals: dict[str, Any] = {}
        first = (SHARED,) if shared else ()
        module = body.module((*first, *parameters))
        *once, function = module.body
        module.body = list(once)
        self._once = compile(module, file, "exec")
        module.body = [function]
        exec(compile(module, file, "exec"), self._globals)
        self.function: Callable[..., Any] = self._globals[TIMED]

    def see(self, names: Mapping[str, Any]) -> None:
        """Give the function these global names, and run its imports and definitions again."""
        self._globals.clear()
        self._globals.update(names)
        exec(self._once, self._globals)
