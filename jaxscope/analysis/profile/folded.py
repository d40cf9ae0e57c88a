"""Lines whose work XLA merged into another's: they must not read as free."""

from __future__ import annotations

import collections
from collections.abc import Callable

from jaxscope.analysis.hlo import HloModule
from jaxscope.analysis.profile.weights import FREE
from jaxscope.model import Program, Stage
from jaxscope.model.profile import Folded, Place

_CHEAP = frozenset({
    "add", "and", "bitcast_convert_type", "broadcast_in_dim", "clamp", "closed_call", "concatenate",
    "cond", "convert_element_type", "copy", "copy_p", "core_call", "custom_jvp_call",
    "custom_vjp_call", "device_put", "div", "dynamic_slice", "eq", "expand_dims", "floor", "ge",
    "gt", "integer_pow", "iota", "jit", "le", "lt", "max", "min", "mul", "ne", "neg", "not", "or",
    "pad", "pjit", "pvary", "random_wrap", "random_unwrap", "remat2", "checkpoint", "reshape",
    "rev", "rem", "scan", "select_n", "shard_map", "sign", "slice", "split", "square", "squeeze",
    "stop_gradient", "sub", "transpose", "while", "xor", "mul_add", "and_then", "pbroadcast",
    "convert_element_type_p", "optimization_barrier", "name", "random_seed", "random_fold_in",
})  # fmt: skip
"""Primitives that a reader does not miss: they cost next to nothing, or only hold others."""


def folded(
    program: Program,
    stage: Stage,
    module: HloModule,
    source: int,
    lowered: Callable[[], Stage],
) -> tuple[Folded, ...]:
    """Lines with costly equations of which no instruction is left.

    Such as `exp(b)` followed by `c * c`, which becomes `exp(b + b)` with the product's name, or two
    reductions that become one. `lowered` gives the StableHLO, for telling these from equations
    that JAX left out because no result depends on them; it is asked for only when there are any.
    """
    own: set[int] = set()
    traces: dict[int, list[str]] = collections.defaultdict(list)
    for anchor in stage.anchors:
        instruction = module.at_line(anchor.line)
        if instruction is None or not anchor.equations:
            continue
        if not anchor.exact:
            own.update(anchor.equations)
        elif instruction.opcode in FREE:
            traces[anchor.equations[0]].append(instruction.name)
        else:
            own.add(anchor.equations[0])
            own.update(anchor.equations[1:])
    homes = _homes(program, source)
    # A line that has an instruction has a time, whichever of its equations the name is of.
    present = {homes[i] for i in own if i in homes}
    lost: dict[Place, list[int]] = {}
    for equation in program.equations:
        place = homes.get(equation.id)
        if place is not None and place not in present and equation.primitive not in _CHEAP:
            lost.setdefault(place, []).append(equation.id)
    if not lost:
        return ()
    reached = {i for anchor in lowered().anchors for i in anchor.equations}
    if reached:
        lost = {p: kept for p, ids in lost.items() if (kept := [i for i in ids if i in reached])}
    by_line = {a.line: a for a in stage.anchors}
    rows: list[Folded] = []
    for place, ids in sorted(lost.items()):
        into: set[int] = set()
        for name in (name for i in ids for name in traces.get(i, ())):
            instruction = module.instruction(name)
            for operand in instruction.operands if instruction is not None else ():
                made = module.instruction(operand)
                anchor = by_line.get(made.line) if made is not None else None
                into |= {homes[i].line for i in (anchor.equations if anchor else ()) if i in homes}
        primitives = dict.fromkeys(program.equations[i].primitive for i in ids)
        rows.append(Folded(place, tuple(primitives), tuple(sorted(into - {place.line}))))
    return tuple(rows)


def _homes(program: Program, source: int) -> dict[int, Place]:
    return {
        equation.id: Place(source, frame.span.line, equation.phase)
        for equation in program.equations
        if (frame := next((f for f in equation.frames if f.source == source), None)) is not None
    }
