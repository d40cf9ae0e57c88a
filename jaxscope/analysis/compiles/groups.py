"""The compiles of a log brought together: by line, by function, by cell."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from jaxscope.model.compile_log import Log, Storm
from jaxscope.model.compiles import Compile, CompileKind

_LONG = 60
"""Characters of a line beyond which the call itself is shown: a line may hold several."""


@dataclass(frozen=True, slots=True)
class Group:
    """Compiles that belong together, in the order they began."""

    title: str
    """`In [3]:4`, `train.py:12`, a function's name, `In [3]`."""
    compiles: tuple[Compile, ...]

    @property
    def count(self) -> int:
        return len(self.compiles)

    @property
    def recompiles(self) -> int:
        return sum(compile.is_recompile for compile in self.compiles)

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


def by_line(log: Log) -> tuple[Group, ...]:
    """One group for each line of the user's, the slowest first."""
    return _grouped(log, lambda compile: place(compile, log) or "unknown line")


def by_function(log: Log) -> tuple[Group, ...]:
    """One group for each function, the eager operations by name, the slowest first."""
    return _grouped(log, called)


def by_cell(log: Log) -> tuple[Group, ...]:
    """One group for each cell that ran, the slowest first; outside a notebook, each file."""

    def title(compile: Compile) -> str:
        if compile.cell is not None:
            return f"In [{compile.cell}]"
        return file_name(compile, log) or "unknown file"

    return _grouped(log, title)


def _grouped(log: Log, title: Callable[[Compile], str]) -> tuple[Group, ...]:
    groups: dict[str, list[Compile]] = {}
    for compile in log.compiles:
        groups.setdefault(title(compile), []).append(compile)
    found = [Group(name, tuple(compiles)) for name, compiles in groups.items()]
    return tuple(sorted(found, key=lambda group: -group.total_s))


def called(compile: Compile) -> str:
    """What was compiled, as a person says it: `step`, `sin (eager)`, `vmap of f`."""
    if compile.kind is CompileKind.EAGER:
        return f"{compile.fun_name} (eager)"
    if compile.kind is CompileKind.PMAP:
        return f"pmap of {compile.fun_name}"
    if compile.transform:
        return f"{compile.transform} of {compile.fun_name}"
    return compile.fun_name


def place(compile: Compile, log: Log) -> str:
    """Where the call stands: `In [3]:4`, `train.py:12`; empty when not known."""
    name = file_name(compile, log)
    return f"{name}:{compile.site.span.line}" if compile.site is not None and name else ""


def file_name(compile: Compile, log: Log) -> str:
    """The cell or file of the call."""
    site = compile.site
    if site is None:
        return ""
    if site.source is not None and site.source < len(log.origins):
        return log.origins[site.source].name
    return site.file


def line_text(compile: Compile, log: Log) -> str:
    """The text of the line that called, or of the call where the line is long; empty when gone."""
    site = compile.site
    if site is None or site.source is None or site.source >= len(log.origins):
        return ""
    text, span = log.origins[site.source].line(site.span.line), site.span
    call = text[span.column : span.end_column] if span.line == span.end_line else ""
    return (call if call and len(text) > _LONG else text).strip()


def storm_of(log: Log) -> dict[int, Storm]:
    """The storm that a compile belongs to, by its serial."""
    return {serial: storm for storm in log.storms for serial in storm.serials}
