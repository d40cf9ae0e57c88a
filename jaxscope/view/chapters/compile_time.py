"""Compile time by line: a sentence, a table, and an icicle of line → phase → pass or kernel."""

from __future__ import annotations

from jaxscope import words
from jaxscope.analysis.compiles.growth import CompileGrowth
from jaxscope.analysis.profile.stacks import Node
from jaxscope.model.compiler.compile_time import CompilationPhase, CompiledLine, CompileTime
from jaxscope.view.base.document import Chapter, Part
from jaxscope.view.base.table import Cell, Column, Table
from jaxscope.view.profile.icicle import svg, tree

_MOST = 20
_LOOP = 4
"""Least iterations of a loop that the sentence names."""
_SHARE = 0.2
"""Least share of the equations that the sentence names, and of the time that makes one."""
_UNATTRIBUTED = "unattributed"
_SHARED = "Tracing is sampled; the time that lines share is apportioned by instructions."


def headline(found: CompileTime) -> str:
    """The line that costs most, and the reason and fix where the code shows them."""
    total = words.seconds(found.total_s)
    if not found.lines or found.line_s(0) < _SHARE * found.total_s:
        return f"No line takes more than {words.percent(_SHARE)} of the {total} of compile time."
    line = found.lines[0]
    share = words.percent(found.line_s(0) / found.total_s)
    name = f"Line {line.line}" if len({one.file for one in found.lines}) == 1 else line.place
    takes = f"takes {share} of the {total}"
    if line.equations >= _SHARE * found.equations and found.equations > 1:
        makes = f"makes {line.equations:,} of {found.equations:,} equations".replace(",", " ")
        takes = f"{makes} and {takes}"
    return f"{name} {takes}{_why(found, line)}."


def _why(found: CompileTime, line: CompiledLine) -> str:
    if line.loop and line.repeats >= _LOOP:
        fix = "lax.while_loop" if line.loop.startswith("while") else "lax.scan"
        applies = f"; `{fix}` compiles one body" if line.uniform else ""
        return f": a Python loop {line.loop}{applies}"
    phases = by_phase(found, 0)
    phase = max(phases, key=lambda one: phases[one])
    if phases[phase] < 0.5 * found.line_s(0):
        return ""
    few = line.equations < _SHARE * found.equations or phase is not CompilationPhase.TRACING
    if phase is CompilationPhase.TRACING and few:
        return ": Python that runs while JAX traces"
    return f", most of it {phase}"


def by_phase(found: CompileTime, line: int | None) -> dict[CompilationPhase, float]:
    """Seconds of a line by phase."""
    seconds = dict.fromkeys(CompilationPhase, 0.0)
    for part in found.parts:
        if part.line == line:
            seconds[part.phase] += part.seconds
    return seconds


def tree_of(found: CompileTime) -> Node:
    """The tree of lines, phases, and passes or kernels."""
    root = Node("compile time", found.total_s)
    for part in found.parts:
        where = _UNATTRIBUTED if part.line is None else found.lines[part.line].place
        node = root
        for label in filter(None, (where, part.phase.value, part.name)):
            node = node.child(label)
            node.seconds += part.seconds
    return root


def chapter(found: CompileTime) -> Chapter:
    """The sentence, the column by line, and the icicle."""
    root = tree_of(found)
    phases = ", ".join(f"{phase} {words.seconds(s)}" for phase, s in found.phases if s)
    lead = (headline(found), f"{phases}.", *found.notes)
    rows: list[int | None] = [*range(min(len(found.lines), _MOST))]
    if found.line_s(None):
        rows.append(None)

    def column(phase: CompilationPhase) -> Column[int | None]:
        return ">", phase.value, lambda i: _time(by_phase(found, i)[phase])

    columns = Table.of(
        rows,
        ("<", "line", lambda i: _UNATTRIBUTED if i is None else found.lines[i].place),
        ("<", "code", lambda i: "" if i is None else words.cut(found.lines[i].text, 60)),
        (">", "equations", lambda i: _equations(found, i)),
        (">", "time", lambda i: _time(found.line_s(i))),
        (">", "share", lambda i: words.percent(found.line_s(i) / (found.total_s or 1.0))),
        *map(column, CompilationPhase),
    )
    more = len(found.lines) - _MOST
    left = (f"{words.count(more, 'faster line')} left out.",) if more > 0 else ()
    return Chapter(
        "compile_time",
        "Compile time by line",
        (*lead, *left, _SHARED),
        (Part("", columns, brief=True), Part(picture=svg(root), drawing=tree(root))),
    )


def growth_headline(found: CompileGrowth) -> str:
    """The order of the equations, and the phase that took longest at the larger size."""
    low, high = (f"{size:g}" for size in found.sizes)
    phase = max(CompilationPhase, key=lambda one: found.row(one.value).larger)
    row = found.row(phase.value)
    share = words.percent(row.larger / (found.row("seconds").larger or 1.0))
    how = f"n^{row.power:.1f}" if row.power is not None else "unknown"
    return (
        f"From {low} to {high}: the growth of the equations is {found.order}; that of {phase}, "
        f"{share} of the larger time, is {how}."
    )


def growth_chapter(found: CompileGrowth) -> Chapter:
    """Each figure at both sizes, with its exponent."""
    table = Table.of(
        found.rows,
        ("<", "", lambda row: row.name),
        (">", "smaller", lambda row: _figure(row.name, row.smaller)),
        (">", "larger", lambda row: _figure(row.name, row.larger)),
        (">", "growth", lambda row: "" if row.power is None else f"n^{row.power:.1f}"),
    )
    return Chapter("growth", "", parts=(Part(table=table, brief=True),))


def _figure(name: str, value: float) -> str:
    return f"{value:,.0f}" if name.startswith("equations") else _time(value)


def _equations(found: CompileTime, line: int | None) -> str:
    number = 0 if line is None else found.lines[line].equations
    if not number:
        return ""
    repeats = 1 if line is None else found.lines[line].repeats
    return Cell(f"{number} (×{repeats})" if repeats > 1 else str(number), value=float(number))


def _time(seconds: float) -> str:
    return Cell(words.seconds(seconds), value=seconds) if seconds else ""
