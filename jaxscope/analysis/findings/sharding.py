"""Data that XLA moves between devices because values do not lie as they are used, and work that
several devices do alike."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

from jaxscope.analysis.findings.evidence import Evidence
from jaxscope.analysis.findings.source_code import Reading
from jaxscope.model import (
    Balance,
    Collective,
    Finding,
    FindingKind,
    Need,
    Origin,
    Partition,
    Program,
)
from jaxscope.words import count, names, size

RESHARD_BYTES = 64 * 1024
"""Sent by each device in a run. A link of 25 GB/s (PCIe 4) carries this in 2.6 µs, and starting the
collective costs some 10 µs besides: it is seen beside the dispatch of a call."""
RESHARD_TIMES = 100
"""Small moves that are repeated so often cost a millisecond of starts alone."""
REPEATED_FLOPS = 1e6
"""Products below this are done in microseconds; repeating them is cheaper than sharing them out."""
REPEATED_FIT = 0.05
"""How exactly the repetition must be that of the axes that nothing is cut along."""


def devices(evidence: Evidence, reading: Reading) -> Iterator[Finding]:
    """Resharding with a cause that can be named, and repeated matrix products."""
    for program in evidence.record.programs:
        if program.partition is not None:
            yield from _moved(program, program.partition)
            yield from _repeated(program, program.partition)


def _moved(program: Program, known: Partition) -> Iterator[Finding]:
    # A lookup whose parts are added up sends no more than its result: a table cut by rows is meant.
    causes = [
        c
        for c in known.collectives
        if c.origin is Origin.MOVED and c.equation is not None and not c.combines
    ]
    # Sorting is stable: one cause after the other, its collectives in the order of the text.
    for (need, equation), found in itertools.groupby(
        sorted(causes, key=_cause), key=lambda c: (c.need, _wanting(c))
    ):
        moves = list(found)
        sent = sum(move.sent for move in moves)
        if sent < RESHARD_BYTES and max(move.times for move in moves) < RESHARD_TIMES:
            continue
        said = _say(need, moves, known)
        if said is None or equation is None:
            continue
        line, source = _place(program, equation)
        times = max(move.times for move in moves)
        often = f", {times:.0f} times" if times > 1 else ""
        listed = ", ".join(sorted({str(move.kind) for move in moves}))
        yield Finding(
            FindingKind.RESHARDING,
            line,
            *said,
            f"{count(len(moves), 'collective')} ({listed}){often}: each device sends "
            f"{size(sent)} a run.",
            source,
        )


def _cause(move: Collective) -> tuple[str, int]:
    equation = _wanting(move)
    return str(move.need), -1 if equation is None else equation


def _wanting(move: Collective) -> int | None:
    """The equation that needs the data; where it is not known, the one that XLA names."""
    return move.equation if move.wanted_equation is None else move.wanted_equation


def _say(need: Need | None, moves: list[Collective], known: Partition) -> tuple[str, str] | None:
    """What happens and what to change; None where no cause is certain."""
    specs = {
        p.name: known.layouts[p.layout].spec for p in known.placements if p.direction == "input"
    }
    values = list(dict.fromkeys(move.value for move in moves if move.value in specs))
    first = moves[0]
    if need is Need.OPERANDS:
        both = list(dict.fromkeys([*values, *(b for move in moves for b in move.beside)]))
        both = [name for name in both if name in specs]
        if not both:
            return None
        if len(both) < 2:
            a = both[0]
            message = (
                f"`{a}` lies `{specs[a]}`, and what `{first.wanted_by}` combines it with lies "
                "otherwise: XLA moves data between the devices before."
            )
            fix = f"Lay `{a}` like the result of this line, once and before, by `jax.device_put`."
            return message, fix
        a, b = both[:2]
        if specs[a] == specs[b]:
            return None
        message = (
            f"`{a}` lies `{specs[a]}` and `{b}` lies `{specs[b]}`: XLA moves data between the "
            f"devices before `{first.wanted_by}` can use both."
        )
        fix = f"Lay both alike, once and before: `{b} = jax.device_put({b}, {a}.sharding)`."
        return message, fix
    if need is Need.MANUAL and values:
        value = values[0]
        message = (
            f"`{value}` lies `{specs[value]}`, and `shard_map` takes it in another layout: XLA "
            "moves it at every call."
        )
        fix = f"Put `{value}` where `in_specs` wants it, once and before, or change `in_specs`."
        return message, fix
    if need is Need.PRODUCT and all(move.computed for move in moves):
        # Inputs that are fetched for a product are meant: so works fully sharded training.
        axes = list(dict.fromkeys(a for m in moves for a in known.groups[m.group].axes))
        over = f" over {names(axes)}" if axes else ""
        message = (
            f"A value that was computed in pieces{over} is put together on every device before "
            f"`{first.wanted_by}`, because its result is to lie otherwise."
        )
        fix = (
            "Lay the inputs that meet the result as it comes out, or fix its layout with "
            "`jax.lax.with_sharding_constraint`."
        )
        return message, fix
    if need is Need.DIMENSION:
        axes = list(dict.fromkeys(a for m in moves for a in known.groups[m.group].axes))
        if not axes:
            return None
        message = (
            f"`{first.wanted_by}` works along a dimension that is cut over {names(axes)}: XLA "
            "fetches what the other devices hold."
        )
        fix = (
            f"Cut {names(values) if values else 'its operand'} along another dimension before, so "
            f"that each device has all that `{first.wanted_by}` needs."
        )
        return message, fix
    return None


def _repeated(program: Program, known: Partition) -> Iterator[Finding]:
    balance = known.balance
    if not isinstance(balance, Balance) or balance.each < REPEATED_FLOPS or not known.meshes:
        return
    repeated = balance.repeated(known.devices)
    if repeated < 2 - REPEATED_FIT:
        return
    # Only the axes that nothing is cut along explain it for certain.
    mesh = known.meshes[0]
    used = {
        axis
        for placement in known.placements
        for axis in mesh.axes
        if repr(axis) in known.layouts[placement.layout].spec
    } | {axis for group in known.groups for axis in group.axes}
    idle = [axis for axis in mesh.axes if axis not in used]
    sizes = dict(zip(mesh.axes, mesh.sizes, strict=True))
    number = math.prod(sizes[axis] for axis in idle)
    if not idle or abs(repeated / number - 1) > REPEATED_FIT:
        return
    along = names(idle)
    yield Finding(
        FindingKind.REPEATED_WORK,
        None,
        f"No input or result is cut along {along}: the devices of a row of {number} compute the "
        "same matrix products.",
        f"Cut a batch or a weight along {along}, or make a mesh without it.",
        f"Each of {known.devices} devices does {balance.each / 1e6:.3g} MFLOP of products, "
        f"{number} times what the code asks for in all.",
    )


def _place(program: Program, equation: int) -> tuple[int | None, int]:
    """The line of the cell, or of the innermost source that is kept."""
    frames = program.equations[equation].frames
    frame = next((f for f in frames if f.source == 0), None)
    frame = frame or next((f for f in frames if f.source is not None), None)
    if frame is None or frame.source is None:
        return None, 0
    return frame.span.line, frame.source
