"""A compile log as one line and as rows, independent of the output format."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from enum import StrEnum

from jaxscope import words
from jaxscope.analysis.compiles.avoidable import avoidable
from jaxscope.analysis.compiles.groups import (
    CompileGroup,
    called,
    file_name,
    line_text,
    place,
    storm_of,
)
from jaxscope.model import CauseKind, Compile, CompileKind, Persistent
from jaxscope.model.compile_log import Log
from jaxscope.view.base.table import Table
from jaxscope.view.base.visible import visible, wrapped

MOST_ROWS = 30
"""Most rows of one view, the slowest: one screen."""

OPERATIONS = "eager operations"
"""The label of several operations in one row; it is not a function name."""

_SIGNATURE = 60
"""Characters of a signature in a row."""


_CAUSES = 4
"""Causes of one compilation that are shown."""
_FOOTER = 88
"""Columns of the text under a cell."""
_SLOW_S = 0.5
"""Seconds in XLA from which a row mentions the persistent cache."""
_UNNAMED = re.compile(r"^arg\d+: ")
"""The arguments of an operation have no names."""


class LogGroup(StrEnum):
    """The groups of rows, in order, by their titles."""

    AGAIN = "Recompiled functions"
    FIRST = "First compilations"
    EAGER = "Eager operations"


@dataclass(frozen=True, slots=True)
class LogRow:
    """One row: a compilation, repeated recompilation of one line, or the eager operations of a
    cell."""

    group: LogGroup
    place: str
    what: str
    compiles: tuple[Compile, ...]
    why: str
    fix: str
    _: KW_ONLY
    text: str = ""
    """The text of the calling line."""
    callers: tuple[str, ...] = ()
    """The call stack above that line, innermost first: `train at In [2]:3`."""
    failed: bool = False
    again: bool = False
    """Whether it is a recompilation."""

    @property
    def seconds(self) -> float:
        return sum(compile.total_s for compile in self.compiles)

    @property
    def stages(self) -> tuple[float, float, float]:
        """Seconds of tracing, lowering and XLA."""
        return _stages(self.compiles)

    @property
    def persistent_cache(self) -> str:
        """The role of the persistent cache, in words; empty where it is off or was hit."""
        found = {_persistent_cache(compile) for compile in self.compiles}
        return found.pop() if len(found) == 1 else ""

    @property
    def times(self) -> str:
        return f"× {len(self.compiles)}" if len(self.compiles) > 1 else ""


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows shown, by group and in start order, and a sentence on those left out."""

    rows: tuple[LogRow, ...]
    left_out: str = ""


def _stages(compiles: Sequence[Compile]) -> tuple[float, float, float]:
    return (
        sum(compile.trace_s for compile in compiles),
        sum(compile.lower_s for compile in compiles),
        sum(compile.compile_s for compile in compiles),
    )


def first_line(log: Log) -> str:
    """Number and seconds of the functions compiled, recompilations, the slowest; then the eager
    operations."""
    functions = [c for c in log.compiles if c.kind is not CompileKind.EAGER]
    operations = [c for c in log.compiles if c.kind is CompileKind.EAGER]
    found = [_counted([*functions, *log.failed, *log.passes], len(functions), log)]
    if again := sum(c.kind is not CompileKind.EAGER for c in log.recompiles):
        found.append(words.count(again, "recompile"))
    if hits := sum(c.persistent is Persistent.HIT for c in log.compiles):
        found.append(f"{hits} from the persistent cache")
    if log.failed and functions:
        found.append(f"{len(log.failed)} failed")
    if log.passes:
        found.append(f"{len(log.passes)} traced or lowered only")
    if len(functions) > 1:
        slowest = max(functions, key=lambda compile: compile.total_s)
        where = place(slowest, log)
        at = f" at {where}" if where else ""
        found.append(f"slowest: {called(slowest)}{at}, {words.seconds(slowest.total_s)}")
    if operations:
        seconds = words.seconds(sum(compile.total_s for compile in operations))
        found.append(f"{words.count(len(operations), 'eager operation')}, {seconds}")
    return " · ".join(filter(None, found)) or "Nothing was compiled."


def _counted(compiles: Sequence[Compile], number: int, log: Log) -> str:
    total = sum(compile.total_s for compile in compiles)
    if not compiles:
        return ""
    if log.failed and not number and not log.passes:
        return f"{words.count(len(log.failed), 'compile')} failed after {words.seconds(total)}"
    trace, lower, xla = words.parts(total, *_stages(compiles))
    time = f"{words.seconds(total)} (trace {trace}, lower {lower}, XLA {xla})"
    return f"{words.count(number, 'compile')} in {time}"


def rows(log: Log, most: int = MOST_ROWS) -> Rows:
    """One row per compilation of a function; one per line that recompiles repeatedly, and one per
    cell for its eager operations. A fix is shown once."""
    order, fixes, found = list(LogGroup), set[str](), list[LogRow]()
    for row in sorted(_rows(log), key=lambda row: order.index(row.group)):
        found.append(replace(row, fix="") if row.fix in fixes else row)
        fixes.add(row.fix)
    if len(found) <= most:
        return Rows(tuple(found))
    kept = {id(row) for row in sorted(found, key=lambda row: -row.seconds)[:most]}
    rest = [row for row in found if id(row) not in kept]
    text = words.count(len(rest), "faster row")
    seconds = words.seconds(sum(row.seconds for row in rest))
    left_out = f"{text} ({seconds} in total) left out; `log.by_line()` lists them all."
    return Rows(tuple([row for row in found if id(row) in kept]), left_out)


def _rows(log: Log) -> Iterator[LogRow]:
    storm_by_serial, seen = storm_of(log), set[int]()
    by_serial = {compile.serial: compile for compile in log.compiles}
    failed = {compile.serial for compile in log.failed}
    eager: dict[str, list[Compile]] = {}
    for compile in sorted((*log.compiles, *log.failed), key=lambda compile: compile.serial):
        storm = storm_by_serial.get(compile.serial)
        if storm is not None:
            if id(storm) not in seen:
                seen.add(id(storm))
                members = [by_serial[n] for n in storm.serials if n in by_serial]
                yield _row(members, log, storm.pattern, storm.fix)
        elif compile.serial in failed:
            yield _row([compile], log, f"failed: {compile.error}", "", failed=True)
        elif compile.kind is CompileKind.EAGER:
            eager.setdefault(_cell(compile, log), []).append(compile)
        else:
            yield _row([compile], log, _why(compile), fix(compile))
    for where, operations in eager.items():
        yield _operations(where, operations, log)


def _cell(compile: Compile, log: Log) -> str:
    if compile.cell is not None:
        return f"In [{compile.cell}]"
    return file_name(compile, log) or "unknown line"


def _persistent_cache(compile: Compile) -> str:
    if compile.persistent is Persistent.HIT:
        return "From the persistent cache."
    # The causes of a recompilation have the reason already.
    known = compile.persistent is Persistent.WRITTEN and compile.differs
    return "" if known else compile.persistent_why


def _row(
    compiles: Sequence[Compile], log: Log, why: str, fix: str, *, failed: bool = False
) -> LogRow:
    """One compilation, or the repeated ones of one line."""
    first, names = compiles[0], tuple(dict.fromkeys(map(called, compiles)))
    again = len(compiles) > 1 or first.is_recompile
    group = LogGroup.AGAIN if again else LogGroup.FIRST
    return LogRow(
        LogGroup.EAGER if first.kind is CompileKind.EAGER else group,
        place(first, log),
        names[0] if len(names) == 1 else OPERATIONS,
        tuple(compiles),
        why,
        fix,
        text=line_text(first, log),
        callers=callers(first, log),
        failed=failed,
        again=again,
    )


def _operations(where: str, compiles: Sequence[Compile], log: Log) -> LogRow:
    """The eager operations of a cell. JAX compiles each once per shape: there is no fix."""
    if len(compiles) == 1:
        (one,) = compiles
        name, why = called(one), f"first use{_given(one)}"
        text = line_text(one, log)
        return LogRow(LogGroup.EAGER, place(one, log), name, (one,), why, "", text=text)
    names = tuple(dict.fromkeys(compile.fun_name for compile in compiles))
    why = f"{len(compiles)} compilations ({words.listed(names, 4)})"
    return LogRow(LogGroup.EAGER, where, OPERATIONS, tuple(compiles), why, "")


def _given(compile: Compile) -> str:
    """The arguments, such as ` with x: f32[3]`, as many as fit; empty where they are unknown."""
    arguments = [_UNNAMED.sub("", argument) for argument in compile.signature]
    number = len(arguments)
    while number > 1 and len(", ".join(arguments[:number])) > _SIGNATURE:
        number -= 1
    signature = words.cut(", ".join(arguments[:number]), _SIGNATURE)
    left = len(arguments) - number
    more = f" and {words.count(left, 'more argument')}" if left else ""
    return f" with {signature}{more}" if signature else ""


def callers(compile: Compile, log: Log) -> tuple[str, ...]:
    """The user's frames above the call, innermost first."""
    found: list[str] = []
    below = place(compile, log)
    for frame in compile.stack[1:]:
        if frame.source is None or frame.source >= len(log.sources):
            continue
        where = f"{log.sources[frame.source].name}:{frame.span.line}"
        if where == below:  # a comprehension is a frame of its own up to Python 3.11
            continue
        below = where
        named = frame.function and not frame.function.startswith("<")
        found.append(f"{frame.function} at {where}" if named else where)
    return tuple(found)


def why(compile: Compile) -> str:
    """The reason for a compilation; for a slow one also why the persistent cache missed."""
    slow = compile.compile_s >= _SLOW_S and compile.persistent is not Persistent.HIT
    cache = _persistent_cache(compile) if slow else ""
    return f"{_why(compile).rstrip('.')}. {cache}" if cache else _why(compile)


def _why(compile: Compile) -> str:
    if not compile.differs:
        kinds, given = {cause.kind for cause in compile.causes}, _given(compile)
        if CauseKind.LINKED_AGAIN in kinds:
            return "compiled again to link lines"
        if since := next((cause.since for cause in compile.causes if cause.since), ""):
            return f"first compilation since {since}{given}"
        if compile.kind is CompileKind.EAGER:
            return f"first use{given}"
        known = CauseKind.FIRST_CALL in kinds
        return f"first call{given}" if known else f"cause unknown{given and f',{given}'}"
    texts = [cause.text for cause in compile.causes]
    if (rest := len(texts) - _CAUSES) > 0:
        texts[_CAUSES:] = [f"And {words.count(rest, 'more difference')}."]
    return " ".join(texts)


def fix(compile: Compile) -> str:
    """The fix, once for each kind of cause."""
    fixes: dict[CauseKind, str] = {}
    for cause in compile.causes[:_CAUSES]:
        if cause.fix:
            fixes.setdefault(cause.kind, cause.fix)
    return " ".join(dict.fromkeys(fixes.values()))


def group_table(groups: Sequence[CompileGroup], head: str, most: int = MOST_ROWS) -> Table:
    """The groups of `by_line`, `by_function` or `by_cell`, with their time by stage."""
    return Table.of(
        groups[:most],
        ("<", head, lambda group: group.title),
        (">", "compiles", lambda group: str(group.count)),
        (">", "again", lambda group: str(group.recompiles or "")),
        (">", "trace", lambda group: words.seconds(group.trace_s)),
        (">", "lower", lambda group: words.seconds(group.lower_s)),
        (">", "XLA", lambda group: words.seconds(group.compile_s)),
        (">", "total", lambda group: words.seconds(group.total_s)),
        ("<", "functions", _names),
    )


def _names(group: CompileGroup) -> str:
    names = group.functions
    if names == (group.title.removesuffix(" (eager)"),):
        return ""
    return words.listed(names, 4) if len(names) > 4 else ", ".join(names)


def advised(log: Log) -> list[LogRow]:
    """The rows with advice for the user: recompilations that can and should be avoided."""
    again = avoidable(log)
    return [row for row in _rows(log) if row.fix and any(c.serial in again for c in row.compiles)]


def footer(log: Log) -> str:
    """The text under a cell: the first line, and the worst avoidable recompilation with its fix."""
    # A notebook breaks longer lines anywhere, even inside words.
    lines = _indented(f"jaxscope: {first_line(log)}", _FOOTER, "", "  ")
    worst = max(advised(log), key=lambda row: row.seconds, default=None)
    if worst is None:
        return "\n".join(lines)
    where = f" at {worst.place}" if worst.place else ""
    times = f" {worst.times}" if worst.times else ""
    text = f"{worst.what}{times}{where}: {worst.why}"
    lines += _indented(text.replace("`", ""), _FOOTER - 2, "  ", "  ")
    lines += _indented(worst.fix.replace("`", ""), _FOOTER - 4, "  → ", "    ")
    return "\n".join(lines)


def plain_rows(log: Log, most: int, width: int = 88) -> list[str]:
    """The rows as lines of a message: place, function, reason, fix."""
    found = rows(log, most)
    lines: list[str] = []
    in_order = sorted(found.rows, key=lambda row: row.compiles[0].serial)
    for number, row in enumerate(in_order, 1):
        where = f" at {row.place}" if row.place else ""
        times = f" {row.times}" if row.times else ""
        head = f"{number}. {row.what}{times}{where}, {words.seconds(row.seconds)}: "
        lines += _indented(head + row.why, width - 5, "  ", "     ")
        if row.text:
            lines.append(f"       {visible(row.text)[: width - 7]}")
        if row.fix:
            lines += _indented(row.fix, width - 7, "     → ", "       ")
    return [*lines, found.left_out] if found.left_out else lines


def _indented(text: str, width: int, first: str, others: str) -> list[str]:
    lines = enumerate(wrapped(visible(text), width))
    return [(others if number else first) + line for number, line in lines]
