"""The words of `jaxscope targets` and `%jaxtargets`: what is installed, and what it costs."""

from __future__ import annotations

from collections.abc import Callable

from jaxscope import words
from jaxscope.analysis.targets.names import KINDS
from jaxscope.capture.targets import environment
from jaxscope.capture.targets.environment import TargetEnvironment


def table() -> str:
    """Every target with its compiler, as text."""
    heads = ("target", "compiler", "on disk")
    rows = [heads, *map(_row, (None, *environment.environments()))]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    lines += ["", f"Environments are in {environment.cache_folder()}."]
    if old := environment.others():
        names = words.listed([folder.name for folder in old])
        lines.append(f"Of other versions or incomplete: {names}; `remove` deletes them too.")
    return "\n".join(lines)


def _row(found: TargetEnvironment | None) -> tuple[str, str, str]:
    if found is None:
        return _targets(""), "XLA of this environment", "—"
    compilers = found.compilers
    targets = _targets(compilers.name)
    if found.installed:
        return targets, words.listed(found.versions[:1]), words.size(found.bytes)
    if found.own:
        return targets, f"{found.own} of this environment", "—"
    size = words.size(compilers.download)
    return targets, f"not installed: `install {compilers.name}` downloads about {size}", "—"


def _targets(name: str) -> str:
    if not name:
        return "cpu"
    return ", ".join(kind for kind in KINDS if kind.startswith(f"{name}:"))


def question(name: str) -> str:
    """The size of a download, before it begins."""
    found = environment.environment(name)
    compilers = found.compilers
    return (
        f"The {compilers.title} ({words.listed(environment.requirements(name))}) is a download of "
        f"about {words.size(compilers.download)}, {words.size(compilers.disk)} on disk, in "
        f"{found.folder}."
    )


def already(name: str) -> str:
    """A sentence where the compiler is installed; else empty."""
    found = environment.environment(name)
    if not found.installed:
        return ""
    versions = words.listed(found.versions)
    return f"The {found.compilers.title} is installed: {versions}, {words.size(found.bytes)}."


def install(name: str, say: Callable[[str], None]) -> str:
    """Install the compiler, and say what is there now."""
    environment.install(name, say)
    return already(name)


def remove(name: str) -> str:
    """Delete the compiler, and say what was freed."""
    freed = environment.remove(name)
    title = environment.COMPILERS[name].title
    return f"Removed the {title}: {words.size(freed)} freed." if freed else f"There is no {title}."
