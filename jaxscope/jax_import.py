"""Call back when the user imports jax, so that the first compilation of the first cell is observed.

Nothing here imports jax. Python queries the finders on `sys.meta_path` for a module's spec; ours
finds none itself, but wraps the loader of jax to be notified when the module has been executed.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

PACKAGE = "jax"


class _Finder:
    """Answers for one package only, and once.

    No `MetaPathFinder`: that takes as long to import as all of `import jaxscope`.
    """

    def __init__(self, name: str, arrived: Callable[[], None]) -> None:
        self._name = name
        self._arrived = arrived
        self._asking = False

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != self._name or self._asking:
            return None
        self._asking = True
        try:
            spec = importlib.util.find_spec(fullname)
        except Exception:  # the import itself will report the error
            return None
        finally:
            self._asking = False
        if spec is not None and spec.loader is not None:
            self._notify_after(spec.loader)
        return spec

    def _notify_after(self, loader: Any) -> None:
        execute = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            # The loader is restored before the module runs, in case the module uses it.
            with suppress(AttributeError):
                del loader.exec_module
            execute(module)
            with suppress(ValueError):
                sys.meta_path.remove(self)
            with suppress(Exception):  # the import of jax must not fail because of us
                self._arrived()

        with suppress(AttributeError):  # a loader without attributes: notified later
            loader.exec_module = exec_module


@contextmanager
def on_arrival(arrived: Callable[[], None], name: str = PACKAGE) -> Generator[None]:
    """Inside the block, `arrived` is called when the package has been imported.

    Not called for a package that is imported already. Its exceptions are suppressed.
    """
    if name in sys.modules:
        yield
        return
    finder = _Finder(name, arrived)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        with suppress(ValueError, AttributeError):  # at the end of Python it is None
            sys.meta_path.remove(finder)
