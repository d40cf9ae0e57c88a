"""The compilations of a log grouped by line, by function, by cell."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from jaxscope.model.compile_log import Log, Storm
from jaxscope.model.compiles import Compile, CompileKind

_LONG = 60
"""Length of a line from which only the call is shown: a line may hold several."""


@dataclass(frozen=True, slots=True)
class CompileGroup:
    """Compilations that belong together, in the order they began."""

    title: str
    """`In [3]:4`, `train.py:12`, a function's name, `In [3]`."""
    compiles: tuple[Compile, ...]
    recompiles: int = 0
    """The number of recompilations among them."""

    @property
    def count(self) -> int:
        return len(self.compiles)

    @property
    def trace_s(self) -> float:
        return sum(compile.trace_s for compile in self.compiles)

    @property
    def lower_s(self) -> float:
        return sum(compile.lower_s for compile in self.compiles)

    @property
    def compile_s(self) -> float:
        return sum(compile.compile_s for compile in self.compiles)

    @property
    def total_s(self) -> float:
        return sum(compile.total_s for compile in self.compiles)

    @property
    def functions(self) -> tuple[str, ...]:
        """Their names, each once."""
        return tuple(dict.fromkeys(compile.fun_name for compile in self.compiles))


def by_line(log: Log) -> tuple[CompileGroup, ...]:
    """One group per line of the user's code, the slowest first."""
    return _grouped(log, lambda compile: place(compile, log) or "unknown line")


def by_function(log: Log) -> tuple[CompileGroup, ...]:
    """One group per function or eager operation, the slowest first."""
    return _grouped(log, called)


def by_cell(log: Log) -> tuple[CompileGroup, ...]:
    """One group per cell that ran, or per file outside a notebook, the slowest first."""

    def title(compile: Compile) -> str:
        if compile.cell is not None:
            return f"In [{compile.cell}]"
        return file_name(compile, log) or "unknown file"

    return _grouped(log, title)


def _grouped(log: Log, title: Callable[[Compile], str]) -> tuple[CompileGroup, ...]:
    groups: dict[str, list[Compile]] = {}
    for compile in log.compiles:
        groups.setdefault(title(compile), []).append(compile)
    again = log.again
    found = [
        CompileGroup(name, tuple(compiles), sum(c.serial in again for c in compiles))
        for name, compiles in groups.items()
    ]
    return tuple(sorted(found, key=lambda group: -group.total_s))


def called(compile: Compile) -> str:
    """The compiled function in words: `step`, `sin (eager)`, `vmap of f`."""
    if compile.kind is CompileKind.EAGER:
        return f"{compile.fun_name} (eager)"
    if compile.kind is CompileKind.PMAP:
        return f"pmap of {compile.fun_name}"
    if compile.transform:
        return f"{compile.transform} of {compile.fun_name}"
    return compile.fun_name


def place(compile: Compile, log: Log) -> str:
    """The line of the call: `In [3]:4`, `train.py:12`; empty when unknown."""
    name = file_name(compile, log)
    return f"{name}:{compile.site.span.line}" if compile.site is not None and name else ""


def file_name(compile: Compile, log: Log) -> str:
    """The cell or file of the call."""
    site = compile.site
    if site is None:
        return ""
    if site.source is not None and site.source < len(log.sources):
        return log.sources[site.source].name
    return site.file


def line_text(compile: Compile, log: Log) -> str:
    """The text of the calling line, or only of the call if the line is long; empty when unknown."""
    site = compile.site
    if site is None or site.source is None or site.source >= len(log.sources):
        return ""
    text, span = log.sources[site.source].line(site.span.line), site.span
    call = text[span.column : span.end_column] if span.line == span.end_line else ""
    return (call if call and len(text) > _LONG else text).strip()


def storm_of(log: Log) -> dict[int, Storm]:
    """The storm of each compilation, by serial."""
    return {serial: storm for storm in log.storms for serial in storm.serials}
