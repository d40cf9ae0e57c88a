"""The chapter of a program that differentiates: phases, residuals, checkpoints, Jacobians.

Also forward and reverse mode side by side, for `jaxscope.compare_modes`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jaxscope import words
from jaxscope.analysis.gradient.compiled_residuals import CompiledResidual, compiled_residuals
from jaxscope.analysis.gradient.residual_rows import (
    INPUTS,
    EqualResiduals,
    equal_residuals,
    frame_of,
    peak_bytes,
    residuals_by_line,
)
from jaxscope.analysis.jaxpr.flops import uncounted
from jaxscope.analysis.links.line_figures import BACKWARD, phase_shares
from jaxscope.model import (
    Checkpoint,
    DerivativeMode,
    DerivativeModes,
    Gradient,
    Jacobian,
    Phase,
    Program,
    Record,
    ResidualKind,
)
from jaxscope.view.base.document import Chapter, Part
from jaxscope.view.base.places import (
    code,
    function_lines,
    function_name,
    label,
    linked,
    place_of,
)
from jaxscope.view.base.table import Column, Table
from jaxscope.view.profile.lines import direction

_UNDONE = "XLA for the CPU may undo it, outside a `scan`"
_WORTH = 1_000_000
"""Least bytes freed by a checkpoint in the short report."""


def chapter(record: Record, program: Program) -> Chapter | None:
    """The chapter; None for a program that takes no derivative."""
    found = program.gradient
    if found is None:
        return None
    compiled = compiled_residuals(program) or ()
    device = ", per device" if program.sharding is not None else ""
    tables = (
        (f"Phases, as compiled{device}", _phases(program)),
        ("Saved residuals, by the line that makes them", residual_lines(record, program)),
        ("Saved residuals, from the equations", _residuals(record, program)),
        (
            f"Compiled residuals, live across forward → backward{device}",
            _compiled(compiled, record, program),
        ),
        ("Estimated effect of a checkpoint", checkpoint_table(record, program)),
    )
    return Chapter(
        "gradient",
        "Gradient",
        tuple(_lead(found, compiled, record, program)),
        tuple(Part(caption, table) for caption, table in tables if table.rows),
    )


def _lead(
    found: Gradient, compiled: Sequence[CompiledResidual], record: Record, program: Program
) -> Iterator[str]:
    unknown = _uncounted(program)
    least = "at least " if unknown else ""
    if found.jacobian is not None:
        yield _jacobian(found.jacobian, program, least)
    if not any(equation.phase in BACKWARD for equation in program.equations):
        yield (
            "Forward mode: the derivative is computed beside the values, so no residuals are saved."
        )
        return
    if found.residuals:
        yield _saved(found, compiled, record, program)
    else:
        yield "The backward pass reads no residuals: the function is linear."
    if unknown:
        yield (
            f"The FLOPs of {words.names(unknown)} are unknown, so the forward and the backward "
            "pass are not compared."
        )
    elif found.backward_flops and found.forward_flops:
        times = words.significant(found.backward_flops / found.forward_flops, 2)
        work = "about as many FLOPs as" if times == "1" else f"{times} times the FLOPs of"
        again = ""
        if found.rematerialized_flops:
            again = f", {words.short(found.rematerialized_flops)} of them rematerialized"
        yield (
            f"On the jaxpr, the backward pass does {work} the forward pass: "
            f"{words.short(found.backward_flops)} to {words.short(found.forward_flops)}{again}."
        )
    if found.checkpoints and found.checkpoints[0].freed_bytes >= _WORTH:
        one = found.checkpoints[0]
        flops = f"{least}{words.flops(one.flops)} more"
        if not unknown:
            share = one.flops / (found.forward_flops + found.backward_flops)
            flops += f" (+{words.percent(share)})"
        yield (
            f"`jax.checkpoint` on `{function_name(one)}` ({words.significant(one.calls)} calls) "
            f"would free about {words.size(one.freed_bytes)}, for {flops}, estimated."
        )


def _uncounted(program: Program) -> tuple[str, ...]:
    return uncounted(program.equations, lambda one: one.phase is not Phase.PRIMAL)


def _jacobian(jacobian: Jacobian, program: Program, least: str) -> str:
    modes, products = ("reverse", "forward"), ("VJP", "JVP")
    numbers = ("output", "input")
    if not jacobian.reverse:
        modes, products, numbers = modes[::-1], products[::-1], numbers[::-1]
    flops = jacobian.primal_flops + jacobian.products * jacobian.product_flops
    hessian = asked_mode(program) == "hessian"
    text = (
        f"{'Hessian, the gradient differentiated' if hessian else 'Jacobian'} in {modes[0]} mode: "
        f"{words.count(jacobian.products, products[0])}, one per {numbers[0]} number, "
        f"{least}{words.flops(flops)}."
    )
    if jacobian.other_products is None:
        return text
    how = _how_to_time(jacobian, program)
    # A square Jacobian, such as every Hessian: its shape favors neither mode.
    if jacobian.other_products == jacobian.products:
        return (
            f"{text} {modes[1].capitalize()} mode would take as many {products[1]}s: either fits. "
            f"{how}"
        )
    estimate = jacobian.primal_flops + jacobian.other_products * jacobian.product_flops
    best = modes[0] if flops <= estimate else modes[1]
    return (
        f"{text} {modes[1].capitalize()} mode would take "
        f"{words.count(jacobian.other_products, products[1])}, "
        f"{least or 'about '}{words.flops(estimate)}: "
        f"{best} mode fits. {how}"
    )


def _how_to_time(jacobian: Jacobian, program: Program) -> str:
    """The way to time the other mode: an option of a magic, or `compare_modes`."""
    asked = asked_mode(program)
    if asked not in JACOBIANS:
        return "`jaxscope.compare_modes` counts and times both."
    other = "jacfwd" if jacobian.reverse else "jacrev"
    again = " --order 2" if asked == "hessian" else ""
    return f"`--mode {other}{again}` runs and times the other."


JACOBIANS = ("jacfwd", "jacrev", "hessian")
"""Modes of the magics that build a matrix, one product at a time."""


def asked_mode(program: Program) -> str:
    """The mode of the only derivative of a composition; empty where there is none, or several."""
    found = [dict(applied.options) for applied in program.stack if applied.name == "grad"]
    return found[0].get("--mode", "grad") if len(found) == 1 else ""


def _saved(
    found: Gradient, compiled: Sequence[CompiledResidual], record: Record, program: Program
) -> str:
    new = sum(residual.kind not in INPUTS for residual in found.residuals)
    text = "No residuals are saved for the backward pass"
    if new:
        verb = "is" if new == 1 else "are"
        text = f"{words.count(new, 'residual')} {verb} saved for the backward pass"
        if found.new_bytes:  # JAX gives its own types, as of float8 scales, no size
            text += f": {words.size(found.new_bytes)}"
    rows = residuals_by_line(program)
    if len(rows) > 1 and found.new_bytes:
        where = label(record, (rows[0].source, rows[0].line), "line ")
        text += f", {words.percent(rows[0].bytes / found.new_bytes)} of it from {where}"
    if there := found.bytes - found.new_bytes:
        text += f". It {'also ' if new else ''}reads {words.size(there)} of arguments and constants"
    once = peak_bytes(found.residuals)
    if once < found.new_bytes:
        text += f". At most {words.size(once)} is alive at once"
    if compiled:
        size = words.size(sum(each.bytes for each in compiled))
        verb = "is" if len(compiled) == 1 else "are"
        text += f". Compiled, {size} in {words.count(len(compiled), 'array')} {verb} live across"
        text += " forward → backward"
        text += " on each device" if program.sharding is not None else ""
    return text + "."


def _phases(program: Program) -> Table:
    shares = phase_shares(program)
    total = sum(share.flops or 0 for share in shares.values())
    return Table.of(
        [(phase, shares[phase]) for phase in Phase if phase in shares],
        ("<", "phase", lambda row: direction(row[0]) or "not differentiated"),
        (">", "equations", lambda row: str(row[1].equations)),
        (">", "instructions", lambda row: _known(row[1].instructions)),
        (">", "FLOPs", lambda row: words.short(row[1].flops)),
        (">", "share", lambda row: words.share(row[1].flops or None, total)),
    )


def _known(number: int | None) -> str:
    return words.UNKNOWN if number is None else str(number)


def residual_lines(record: Record, program: Program) -> Table:
    """Saved residuals by the line that makes them."""
    rows = residuals_by_line(program)
    total = sum(row.bytes for row in rows)
    return Table.of(
        rows,
        ("<", "line", lambda row: linked(record, (row.source, row.line))),
        (">", "values", lambda row: str(row.values)),
        (">", "size", lambda row: words.size(row.bytes)),
        (">", "share", lambda row: words.share(row.bytes, total)),
        ("<", "code", lambda row: f"`{code(record, (row.source, row.line))}`"),
    )


def _residuals(record: Record, program: Program) -> Table:
    return Table.of(
        equal_residuals(program),
        (">", "size", lambda row: words.size(row.bytes)),
        (">", "values", lambda row: str(row.number)),
        ("<", "type", lambda row: row.residual.aval),
        ("<", "source", _source),
        ("<", "made at", lambda row: linked(record, place_of(row.made_at))),
        ("<", "read at", lambda row: linked(record, place_of(row.used_at))),
    )


def _compiled(compiled: Sequence[CompiledResidual], record: Record, program: Program) -> Table:
    equal: dict[tuple[str, str, str], list[CompiledResidual]] = {}
    for each in compiled:
        equation = program.equations[each.equation]
        place = linked(record, place_of(frame_of(program, each.equation)))
        shape = each.shape.partition("{")[0]
        equal.setdefault((shape, equation.primitive, place), []).append(each)
    rows = [(sum(each.bytes for each in group), key, group) for key, group in equal.items()]
    return Table.of(
        sorted(rows, key=lambda row: -row[0]),
        (">", "size", lambda row: words.size(row[0])),
        (">", "arrays", lambda row: str(len(row[2]))),
        ("<", "type", lambda row: row[1][0]),
        ("<", "result of", lambda row: f"`{row[1][1]}`"),
        ("<", "made at", lambda row: row[1][2]),
        ("<", "first instruction", lambda row: f"`{row[2][0].instruction}`"),
    )


def _source(row: EqualResiduals) -> str:
    residual = row.residual
    origin = residual.origin
    match residual.kind:
        case ResidualKind.ARGUMENT:
            text = f"argument `{origin}`"
            if row.number > 1:
                text = f"arguments, `{origin}` and {row.number - 1} more"
        case ResidualKind.CONSTANT:
            text = "captured constant"
        case ResidualKind.NAMED:
            text = f"named `{origin}`"
        case ResidualKind.CARRIED:
            text = f"carried by a `{origin}`"
        case ResidualKind.OUTPUT:
            text = f"output of `{origin}`"
    if residual.iterations is not None:
        text += f", stacked over {residual.iterations} iterations"
    if residual.derivatives != (0,):
        text += f"; for derivative {' and '.join(str(d + 1) for d in residual.derivatives)}"
    return text


def checkpoint_table(record: Record, program: Program, peak: int | None = None) -> Table:
    """The estimated effect of a checkpoint on each function; with `peak` also the peak after it."""
    found = program.gradient
    known = found is not None and not _uncounted(program)
    every = found.forward_flops + found.backward_flops if found is not None and known else 0.0
    on_cpu = all(device.startswith("cpu") for device in program.devices)
    after: tuple[Column[Checkpoint], ...] = ()
    if peak is not None:
        after = ((">", "peak after", lambda one: words.size(max(peak - one.freed_bytes, 0))),)
    return Table.of(
        () if found is None else found.checkpoints,
        ("<", "function", lambda one: f"`{function_name(one)}`"),
        ("<", "lines", lambda one: function_lines(record, one)),
        (">", "calls", lambda one: words.significant(one.calls)),
        (">", "frees", lambda one: words.size(one.freed_bytes)),
        (">", "saves instead", lambda one: words.size(one.saved_bytes)),
        (">", "repeats", lambda one: f"{'' if known else 'at least '}{words.flops(one.flops)}"),
        (">", "of all FLOPs", lambda one: words.share(one.flops, every)),
        *after,
        ("<", "note", lambda one: _UNDONE if on_cpu and not one.loop else ""),
    )


def modes_verdict(modes: DerivativeModes) -> str:
    """The mode that fits, with the evidence."""
    named = (("forward", modes.forward), ("reverse", modes.reverse))
    timed = all(mode.seconds is not None for _, mode in named)
    (best, one), (worst, other) = (
        (
            name,
            f"{words.seconds(mode.seconds)} per call"
            if timed
            else f"{_products(name, mode)}, {words.flops(mode.flops)}",
        )
        for name, mode in (named if modes.fits == "forward" else named[::-1])
    )
    inputs = words.count(modes.inputs, "input number")
    outputs = words.count(modes.outputs, "output number")
    return f"{best.capitalize()} mode fits ({inputs}, {outputs}): {one}; {worst} mode {other}."


def _products(name: str, mode: DerivativeMode) -> str:
    return words.count(mode.products, "JVP" if name == "forward" else "VJP")


def modes_table(modes: DerivativeModes) -> Table:
    """A row for each mode."""
    return Table.of(
        (("forward", modes.forward), ("reverse", modes.reverse)),
        ("<", "mode", lambda row: row[0]),
        (">", "products", lambda row: _products(*row)),
        (">", "FLOPs", lambda row: words.short(row[1].flops)),
        (">", "equations", lambda row: str(row[1].equations)),
        (">", "per call", lambda row: _per_call(row[1])),
    )


def _per_call(mode: DerivativeMode) -> str:
    return "not timed" if mode.seconds is None else words.seconds(mode.seconds)


def orders_table(modes: DerivativeModes) -> Table:
    """Growth of the program with the order of the derivative."""
    return Table.of(
        modes.orders,
        (">", "order", lambda each: str(each.order)),
        ("<", "by", lambda each: each.by),
        (">", "equations", lambda each: str(each.equations)),
        (">", "FLOPs", lambda each: words.short(each.flops)),
    )
