"""See what JAX does with your code, inside the notebook.

`%load_ext jaxscope` gives the magics; everything they do is a function here. Importing this module
loads the standard library only: jax and the rest are imported when they are first needed. Once jax
is there, compilations are observed, so that a later log can compare with them.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from jaxscope import background
from jaxscope.version import __version__ as __version__

if TYPE_CHECKING:
    from jaxscope.api import (
        compare_modes,
        compare_targets,
        diff,
        expect_compiles,
        inspect,
        last,
        load,
        options,
        profile,
        watch,
    )
    from jaxscope.bench.compare import compare
    from jaxscope.results.comparison import Comparison
    from jaxscope.results.compile_log import CompileLog
    from jaxscope.results.mode_comparison import ModeComparison
    from jaxscope.results.report import Report
    from jaxscope.results.report_diff import ReportDiff
    from jaxscope.results.target_table import TargetTable
    from jaxscope.testing.expect import CompilesError

__all__ = [
    "Comparison",
    "CompileLog",
    "CompilesError",
    "ModeComparison",
    "Report",
    "ReportDiff",
    "TargetTable",
    "compare",
    "compare_modes",
    "compare_targets",
    "diff",
    "expect_compiles",
    "inspect",
    "last",
    "load",
    "options",
    "profile",
    "watch",
]

_HOMES = dict.fromkeys(__all__, "jaxscope.api") | {
    "CompileLog": "jaxscope.results.compile_log",
    "Comparison": "jaxscope.results.comparison",
    "CompilesError": "jaxscope.testing.expect",
    "ModeComparison": "jaxscope.results.mode_comparison",
    "Report": "jaxscope.results.report",
    "ReportDiff": "jaxscope.results.report_diff",
    "TargetTable": "jaxscope.results.target_table",
    "compare": "jaxscope.bench.compare",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'jaxscope' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])


background.start()


def load_ipython_extension(ipython: Any) -> None:
    """`%load_ext jaxscope`: register the magics; neither imports jax nor starts a backend."""
    from jaxscope.magics import load as register

    register(ipython)
    background.stop()  # from now on the session listens


def unload_ipython_extension(ipython: Any) -> None:
    """`%unload_ext jaxscope`: take back everything that loading installed."""
    from jaxscope.magics import unload

    unload(ipython)
