"""The chapter of a program that differentiates: its phases, its residuals, and what to forget."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jaxscope import words
from jaxscope.analysis.gradient.compiled_residuals import Handed, handed_on
from jaxscope.analysis.gradient.residual_rows import (
    THERE,
    Kept,
    alike,
    frame_of,
    kept_by_line,
    most_at_once,
)
from jaxscope.analysis.links.line_figures import BACKWARD, phase_shares
from jaxscope.model import (
    Checkpoint,
    Differentiation,
    Frame,
    Jacobian,
    Phase,
    Program,
    Record,
    ResidualKind,
)
from jaxscope.view.base.chapter import Chapter, Part
from jaxscope.view.base.table import Place, Table

_WORDS = {
    Phase.PRIMAL: "outside the derivative",
    Phase.FORWARD: "forward",
    Phase.BACKWARD: "backward",
    Phase.RECOMPUTE: "forward again, for a checkpoint",
}
_UNDONE = "XLA for the CPU may undo it, outside a `scan`"
_WORTH = 1_000_000
"""Bytes that a checkpoint should save before the short report speaks of it."""


def gradient(record: Record, program: Program) -> Chapter | None:
    """What a program does to differentiate; None when it takes no derivative."""
    found = program.differentiation
    if found is None:
        return None
    handed = handed_on(program) or ()
    parts = _parts(found, handed, record, program)
    return Chapter(
        "gradient",
        "Gradient",
        tuple(_lead(found, handed, record, program)),
        tuple(part for part in parts if part.table is not None and part.table.rows),
    )


def _lead(
    found: Differentiation, handed: Sequence[Handed], record: Record, program: Program
) -> Iterator[str]:
    if found.jacobian is not None:
        yield _mode(found.jacobian, program)
    if not any(equation.phase in BACKWARD for equation in program.equations):
        yield (
            "Forward mode: the derivative is computed beside the values, and nothing is kept for "
            "a backward pass."
        )
        return
    if found.residuals:
        yield _amount(found, handed, record, program)
    else:
        yield "The backward pass reads nothing of the forward pass: what it computes is linear."
    if found.backward and found.forward:
        again = (
            f", of them {words.short(found.recompute)} forward work done again"
            if found.recompute
            else ""
        )
        times = words.significant(found.backward / found.forward, 2)
        work = (
            "about as many operations as the forward pass"
            if times == "1"
            else f"{times} times the operations of the forward pass"
        )
        yield (
            f"The backward pass does {work}: {words.short(found.backward)} to "
            f"{words.short(found.forward)}{again}."
        )
    if found.checkpoints and found.checkpoints[0].saved >= _WORTH:
        yield _advice(found.checkpoints[0], found)


def _mode(jacobian: Jacobian, program: Program) -> str:
    name, other = ("reverse", "forward") if jacobian.reverse else ("forward", "reverse")
    kind = "output" if jacobian.reverse else "input"
    work = jacobian.primal + jacobian.passes * jacobian.linear
    hessian = asked_mode(program) == "hessian"
    what = "Hessian, the gradient differentiated" if hessian else "Jacobian"
    text = (
        f"This is a {what} in {name} mode: "
        f"{words.count(jacobian.passes, 'pass', 'passes')}, one for each {kind} number, "
        f"{words.short(work)} operations."
    )
    if jacobian.other is None:
        return text
    how = _how_to_time(jacobian, program)
    # As many rows as columns, always so of a Hessian: the shape decides nothing.
    if jacobian.other == jacobian.passes:
        return f"{text} In {other} mode it would take as many: either mode fits. {how}"
    estimate = jacobian.primal + jacobian.other * jacobian.linear
    best = name if work <= estimate else other
    return (
        f"{text} In {other} mode it would take {jacobian.other}, about {words.short(estimate)} "
        f"operations: {best} mode fits. {how}"
    )


def _how_to_time(jacobian: Jacobian, program: Program) -> str:
    """A magic can run the other mode itself; a function is given to `compare_modes`."""
    asked = asked_mode(program)
    if asked not in JACOBIANS:
        return "`jaxscope.compare_modes` counts and times both."
    other = "jacfwd" if jacobian.reverse else "jacrev"
    again = " --order 2" if asked == "hessian" else ""
    return f"`--mode {other}{again}` runs and times the other."


JACOBIANS = ("jacfwd", "jacrev", "hessian")
"""The modes of a magic that build a matrix, pass by pass."""


def asked_mode(program: Program) -> str:
    """The mode of the only derivative of a stack; empty where there is none, or several."""
    found = [dict(applied.options) for applied in program.stack if applied.name == "grad"]
    return found[0].get("--mode", "grad") if len(found) == 1 else ""


def _amount(
    found: Differentiation, handed: Sequence[Handed], record: Record, program: Program
) -> str:
    new = sum(1 for residual in found.residuals if residual.kind not in THERE)
    there = found.bytes - found.new_bytes
    text = (
        f"For the backward pass {words.count(new, 'value')} of the forward pass "
        f"{'is' if new == 1 else 'are'} kept, {words.size(found.new_bytes)}"
        if new
        else "For the backward pass nothing of the forward pass is kept"
    )
    rows = kept_by_line(program)
    if len(rows) > 1:
        share = rows[0].bytes / found.new_bytes
        text += f", {words.percent(share)} of it from {_line(rows[0].source, rows[0].line, record)}"
    if there:
        text += f"; it {'also ' if new else ''}reads {words.size(there)} of arguments and constants"
    once = most_at_once(found.residuals)
    if once < found.new_bytes:
        text += f". At most {words.size(once)} is there at once"
    if handed:
        size = words.size(sum(each.bytes for each in handed))
        are = "is" if len(handed) == 1 else "are"
        text += f". Compiled, {words.count(len(handed), 'array')} of {size} {are} handed on"
        text += " on each device" if program.partition is not None else ""
    return text + "."


def _advice(one: Checkpoint, found: Differentiation) -> str:
    share = one.operations / (found.forward + found.backward)
    return (
        f"`jax.checkpoint` on `{_short(one.function)}` ({words.significant(one.calls)} calls) "
        f"would keep about {words.size(one.saved)} less at a time, and do "
        f"{words.short(one.operations)} operations again (+{words.percent(share)}): an estimate."
    )


def _parts(
    found: Differentiation, handed: Sequence[Handed], record: Record, program: Program
) -> Iterator[Part]:
    each = ", on each device" if program.partition is not None else ""
    yield Part(f"Phases, as compiled{each}", _phases(program))
    yield Part("Kept for the backward pass, by the line that makes it", _by_line(record, program))
    yield Part("Every value that is kept, by the equations", _values(record, program))
    yield Part(
        f"What the compiled program hands on to the backward pass{each}",
        _handed(handed, record, program),
    )
    yield Part("What a checkpoint would change, estimated", _checkpoints(found, record, program))


def _phases(program: Program) -> Table:
    shares = phase_shares(program)
    total = sum(share.flops or 0 for share in shares.values())
    return Table(
        ("phase", "equations", "instructions", "FLOP", "share"),
        tuple(
            (
                _WORDS[phase],
                str(share.equations),
                words.UNKNOWN if share.instructions is None else str(share.instructions),
                words.short(share.flops),
                words.percent(share.flops / total) if share.flops and total else "",
            )
            for phase in Phase
            if (share := shares.get(phase)) is not None
        ),
        right=(1, 2, 3, 4),
    )


def _by_line(record: Record, program: Program) -> Table:
    rows = kept_by_line(program)
    total = sum(row.bytes for row in rows)
    return Table(
        ("line", "values", "size", "share", "text"),
        tuple(
            (
                _line(row.source, row.line, record),
                str(row.values),
                words.size(row.bytes),
                words.percent(row.bytes / total) if total else "",
                f"`{_text(row.source, row.line, record)}`",
            )
            for row in rows
        ),
        right=(1, 2, 3),
        lines=(0,),
        places=tuple((row.source, row.line) for row in rows),
    )


def _values(record: Record, program: Program) -> Table:
    rows = alike(program)
    return Table(
        ("size", "values", "type", "why", "made at", "read for"),
        tuple(
            (
                words.size(kept.bytes),
                str(kept.number),
                kept.residual.aval,
                _why(kept),
                _at(kept.made_at, record),
                _at(kept.used_at, record),
            )
            for kept in rows
        ),
        right=(0, 1),
        lines=(4, 5),
        places=tuple(_place(kept.made_at) for kept in rows),
        further=(tuple(_place(kept.used_at) for kept in rows),),
    )


def _handed(handed: Sequence[Handed], record: Record, program: Program) -> Table:
    alike: dict[tuple[str, str, str], list[Handed]] = {}
    for each in handed:
        equation = program.equations[each.equation]
        place = _at(frame_of(program, each.equation), record)
        shape = each.shape.partition("{")[0]
        alike.setdefault((shape, equation.primitive, place), []).append(each)
    rows = sorted(alike.items(), key=lambda item: -sum(each.bytes for each in item[1]))
    return Table(
        ("size", "arrays", "type", "result of", "made at", "first instruction"),
        tuple(
            (
                words.size(sum(each.bytes for each in group)),
                str(len(group)),
                shape,
                f"`{primitive}`",
                place,
                f"`{group[0].instruction}`",
            )
            for (shape, primitive, place), group in rows
        ),
        right=(0, 1),
        lines=(4,),
        places=tuple(_place(frame_of(program, group[0].equation)) for _, group in rows),
    )


def _why(kept: Kept) -> str:
    residual = kept.residual
    origin = residual.origin
    match residual.kind:
        case ResidualKind.ARGUMENT:
            text = f"argument `{origin}`"
            if kept.number > 1:
                text = f"arguments, `{origin}` and {kept.number - 1} more"
        case ResidualKind.CONSTANT:
            text = "constant of the program"
        case ResidualKind.NAMED:
            text = f"named `{origin}`"
        case ResidualKind.CARRIED:
            text = f"brought into each round of a `{origin}`"
        case ResidualKind.OUTPUT:
            text = f"output of `{origin}`"
    if residual.rounds is not None:
        text += f", one for each of {residual.rounds} rounds"
    if residual.derivatives != (0,):
        text += f"; for derivative {' and '.join(str(d + 1) for d in residual.derivatives)}"
    return text


def _checkpoints(found: Differentiation, record: Record, program: Program) -> Table:
    every = found.forward + found.backward
    on_cpu = all(device.startswith("cpu") for device in program.devices)
    return Table(
        ("function", "where", "calls", "saves", "keeps", "does again", "of all", "note"),
        tuple(
            (
                f"`{_short(one.function)}`",
                _lines(one, record),
                words.significant(one.calls),
                words.size(one.saved),
                words.size(one.kept),
                words.short(one.operations),
                words.percent(one.operations / every) if every else "",
                _UNDONE if on_cpu and not one.loop else "",
            )
            for one in found.checkpoints
        ),
        right=(2, 3, 4, 5, 6),
        lines=(1,),
        places=tuple((one.source, one.line) for one in found.checkpoints),
    )


def _short(function: str) -> str:
    """The name as a user would say it: without what it is defined in."""
    return function.rpartition("<locals>.")[2]


def _lines(one: Checkpoint, record: Record) -> str:
    if one.line == one.end_line:
        return _line(one.source, one.line, record)
    first = _line(one.source, one.line, record)
    return f"{first.replace('line', 'lines', 1)}–{one.end_line}"


def _place(frame: Frame | None) -> Place:
    return None if frame is None or frame.source is None else (frame.source, frame.span.line)


def _at(frame: Frame | None, record: Record) -> str:
    if frame is None or frame.source is None:
        return ""
    return _line(frame.source, frame.span.line, record)


def _line(source: int, line: int, record: Record) -> str:
    if source == 0 or source >= len(record.sources):
        return f"line {line}"
    return f"{record.sources[source].name}:{line}"


def _text(source: int, line: int, record: Record) -> str:
    lines = record.sources[source].lines if source < len(record.sources) else ()
    return lines[line - 1].strip() if 0 < line <= len(lines) else ""
