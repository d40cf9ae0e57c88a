"""The interface to IPython: magics, and the session of a shell."""

from __future__ import annotations

from typing import Any

from jaxscope.magics.benchmarking import Benchmarking
from jaxscope.magics.config import JaxScope
from jaxscope.magics.differences import Differences
from jaxscope.magics.family import Family
from jaxscope.magics.profiling import Profiling
from jaxscope.magics.session.viewer_comm import Serving
from jaxscope.magics.transforms import Transforms
from jaxscope.magics.watching import Watching

FAMILIES: tuple[type[Family], ...] = (
    Transforms,
    Profiling,
    Watching,
    Benchmarking,
    Differences,
    Serving,
)
"""Magics by subject. A new family is a class in its own file, and its name here."""

_ATTRIBUTE = "jaxscope_magics"


def load(shell: Any) -> None:
    """Register the magics, and listen once jax is imported. A second load changes nothing."""
    if getattr(shell, _ATTRIBUTE, None) is not None:
        return
    scope = JaxScope(shell)
    scope.families = tuple([family(shell, scope) for family in FAMILIES])
    for magics in (scope, *scope.families):
        shell.register_magics(magics)
        for start, handler in magics.completers().items():
            shell.set_hook("complete_command", handler, str_key=start)
        shell.events.register("pre_run_cell", magics.before_cell)
        shell.events.register("post_run_cell", magics.after_cell)
    setattr(shell, _ATTRIBUTE, scope)


def unload(shell: Any) -> None:
    """Uninstall everything that `load` installed."""
    scope: JaxScope | None = getattr(shell, _ATTRIBUTE, None)
    if scope is None:
        return
    for magics in (*reversed(scope.families), scope):
        shell.events.unregister("pre_run_cell", magics.before_cell)
        shell.events.unregister("post_run_cell", magics.after_cell)
        magics.close()
        for start in magics.completers():
            shell.strdispatchers["complete_command"].strs.pop(start, None)
        for kind, names in magics.magics.items():
            for name in names:
                shell.magics_manager.magics[kind].pop(name, None)
        shell.magics_manager.registry.pop(type(magics).__name__, None)
        if magics in shell.configurables:
            shell.configurables.remove(magics)
    setattr(shell, _ATTRIBUTE, None)
