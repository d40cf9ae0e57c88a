"""Lines whose work XLA merged into another's: they must not read as free."""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterable, Mapping

from jaxscope.analysis.hlo import HloModule
from jaxscope.analysis.profile.fusion_split import FREE
from jaxscope.analysis.profile.renamed import renamed
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

_OPCODES = {
    "exp": "exponential", "expm1": "exponential-minus-one", "log": "log", "log1p": "log-plus-one",
    "logistic": "logistic", "tanh": "tanh", "sin": "sine", "cos": "cosine", "tan": "tan",
    "pow": "power", "sqrt": "sqrt", "rsqrt": "rsqrt", "cbrt": "cbrt", "erf": "erf",
    "atan2": "atan2", "sort": "sort", "dot_general": "dot", "reduce_max": "reduce",
    "reduce_min": "reduce",
}  # fmt: skip
"""What a primitive becomes when nothing is merged."""


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
    own.update(renamed(program, stage, module).values())
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
        into = into or _doing(primitives, program, stage, module, homes)
        rows.append(Folded(place, tuple(primitives), tuple(sorted(into - {place.line}))))
    return tuple(rows)


def with_folded(measured: Mapping[Place, float], folded: Iterable[Folded]) -> Mapping[Place, float]:
    """Seconds of lines that were kept apart, given to the lines that do their work otherwise."""
    found = dict(measured)
    for row in folded:
        seconds = found.pop(row.place, 0.0)
        heirs = [p for p in found if p.source == row.place.source and p.line in row.into]
        heirs = [p for p in heirs if p.phase is row.place.phase] or heirs
        if not heirs:
            return measured
        for heir in heirs:
            found[heir] += seconds / len(heirs)
    return found


def _doing(
    primitives: Iterable[str],
    program: Program,
    stage: Stage,
    module: HloModule,
    homes: Mapping[int, Place],
) -> set[int]:
    """Lines whose tag is on an instruction that does such work, and that ask for no such work.

    XLA gives what it rewrites the name of the last operation: `c * c` of `c = exp(b)` becomes
    `exp(b + b)` with the product's name.
    """
    opcodes = {_OPCODES[name] for name in primitives if name in _OPCODES}
    found: set[int] = set()
    for anchor in stage.anchors:
        instruction = module.at_line(anchor.line)
        if instruction is None or instruction.opcode not in opcodes or not anchor.equations:
            continue
        tagged = program.equations[anchor.equations[0]]
        other = _OPCODES.get(tagged.primitive) != instruction.opcode
        if instruction.opcode == "reduce":  # one that finds a maximum's place finds it, too
            other = tagged.primitive in {"argmax", "argmin"}
        if other and tagged.id in homes:
            found.add(homes[tagged.id].line)
    return found


def _homes(program: Program, source: int) -> dict[int, Place]:
    return {
        equation.id: Place(source, frame.span.line, equation.phase)
        for equation in program.equations
        if (frame := next((f for f in equation.frames if f.source == source), None)) is not None
    }
