"""A section made into the function that is timed."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from jaxscope.bench.cell.body import TIMED, Body
from jaxscope.bench.cell.sections import SHARED


class Timed:
    """Holds the function of one section and the global names that it sees."""

    def __init__(self, body: Body, parameters: Sequence[str], shared: bool, file: str) -> None:
        self.namespaced = shared
        # TorchScript wants to know the module of what it compiles.
        self._globals: dict[str, Any] = {"__name__": "__main__"}
        self._reads = body.reads
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
        self._globals.update(_usual(name for name in self._reads if name not in names))
        self._globals.update(names)
        exec(self._once, self._globals)


USUAL = {
    "np": "numpy",
    "numpy": "numpy",
    "jnp": "jax.numpy",
    "jax": "jax",
    "torch": "torch",
}


def _usual(names: Iterable[str]) -> dict[str, Any]:
    """The frameworks under the names that everybody gives them, where the user gave them none."""
    found: dict[str, Any] = {}
    for name in names:
        if name in USUAL:
            # Where it is not installed the section's own NameError says so.
            with contextlib.suppress(ImportError):
                found[name] = importlib.import_module(USUAL[name])
    return found
