"""Import in the background what the first cell would wait for.

A run and its report need 290 modules of ours, a third of a second. They are imported while the
kernel waits for the next cell; those that need jax, once the user has imported it.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
import threading

WITHOUT_JAX = (
    "jaxscope.model",
    "jaxscope.analysis.hlo",
    "jaxscope.analysis.cost",
    "jaxscope.analysis.diff",
    "jaxscope.model.compile_log",
    "jaxscope.analysis.findings",
    "jaxscope.results.report",
    "jaxscope.view.report.document",
    "jaxscope.view.bundle.payload",
    "jaxscope.magics.session.next_steps",
)
WITH_JAX = (
    "jaxscope.capture._jax",
    "jaxscope.capture.run.run",
    "jaxscope.capture.run.function_form",
    "jaxscope.analysis.variants",
)
"""In the order of their use: the first are needed by every cell.

A package whose `__init__` imports its modules comes before these. A thread that asks for such a
module first holds its lock while it waits for the package, and a cell that imports the package
holds that one and waits for the module: Python then raises a deadlock in the cell.
"""
_NAME = "jaxscope-preload"
_AHEAD = f"{_NAME}-with-jax"


def preload(names: tuple[str, ...]) -> None:
    """Import these modules in a thread. It ends before Python does: C++ code must not be cut.

    Not where an import parses the source as pytest's does: two threads in `ast.parse` break each
    other (CPython 3.11: "AST constructor recursion depth mismatch").
    """
    missing = [name for name in names if name not in sys.modules]
    rewriting = any(type(finder).__module__.startswith("_pytest") for finder in sys.meta_path)
    if missing and not rewriting:
        name = _AHEAD if names is WITH_JAX else _NAME
        threading.Thread(target=_load, args=(missing,), name=name).start()


def _load(names: list[str]) -> None:
    for name in names:
        # A cell needs the modules ahead before XLA compiles, and the others can be imported then.
        # Threads ahead never wait: there are two where the extension is loaded again.
        if threading.current_thread().name != _AHEAD:
            for thread in threading.enumerate():
                if thread.name == _AHEAD:
                    thread.join()
        # The cell that needs the module imports it again, and reports the error.
        with contextlib.suppress(Exception):
            importlib.import_module(name)
