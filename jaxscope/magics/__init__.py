"""The interface to IPython: magics, and the session of a shell."""

from __future__ import annotations

import contextlib
import os
import re
import sys
from typing import Any

from jaxscope.magics import display
from jaxscope.magics.benchmarking import Benchmarking
from jaxscope.magics.cluster import Clusters
from jaxscope.magics.config import JaxScope
from jaxscope.magics.differences import Differences
from jaxscope.magics.family import Family
from jaxscope.magics.profiling import Profiling
from jaxscope.magics.session.preload import WITHOUT_JAX, preload
from jaxscope.magics.session.viewer_comm import Serving
from jaxscope.magics.targets import Targets
from jaxscope.magics.transforms import Transforms
from jaxscope.magics.trying import Trying
from jaxscope.magics.watching import Watching
from jaxscope.version import TESTED_JAX

FAMILIES: tuple[type[Family], ...] = (
    Transforms,
    Profiling,
    Watching,
    Benchmarking,
    Differences,
    Trying,
    Clusters,
    Targets,
    Serving,
)
"""Magics by subject. A new family is a class in its own file, and its name here."""

_ATTRIBUTE = "jaxscope_magics"
_JAX_FOLDER = re.compile(r"jax-(.+)\.dist-info")


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
    preload(WITHOUT_JAX)
    if newer := newer_jax():
        display.say(newer)


_told: set[str] = set()
"""Versions already named in this process, however often the extension is loaded."""


def installed_jax() -> str:
    """The version of jax, from the name of its folder of metadata; empty where there is none.

    `importlib.metadata` would take a tenth of the time to load the extension.
    """
    jax = sys.modules.get("jax")
    if jax is not None:
        return str(getattr(jax, "__version__", ""))
    for folder in sys.path:
        with contextlib.suppress(OSError):
            for name in os.listdir(folder or "."):
                if found := _JAX_FOLDER.fullmatch(name):
                    return found[1]
    return ""


def newer_jax() -> str:
    """The line on a jax that is newer than any that was tested; empty for others, and the second
    time."""
    version = installed_jax()
    try:
        found = tuple(int(part) for part in version.split(".")[:2])
    except ValueError:
        return ""
    if found <= TESTED_JAX or version in _told:
        return ""
    tested = ".".join(map(str, TESTED_JAX))
    _told.add(version)
    return (
        f"jax {version} is newer than {tested}, the newest that this jaxscope was tested with; "
        "some details may be missing."
    )


def unload(shell: Any) -> None:
    """Uninstall everything that `load` installed; the settings stay, for the next load."""
    scope: JaxScope | None = getattr(shell, _ATTRIBUTE, None)
    if scope is None:
        return
    scope.keep_settings()
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
