"""Lines whose work XLA merged into other lines, so that they do not read as free."""

import collections
from collections.abc import Callable, Iterable, Mapping

from jaxscope.analysis.hlo import HloModule
from jaxscope.analysis.profile.fusion_split import FREE
from jaxscope.analysis.profile.line_owners import lines_of_equations
from jaxscope.model import Program, Stage
from jaxscope.model.profile import MergedLine, SourceLine

_CHEAP = frozenset({
    "add", "and", "bitcast_convert_type", "broadcast_in_dim", "clamp", "closed_call", "concatenate",
    "cond", "convert_element_type", "copy", "copy_p", "core_call", "custom_jvp_call",
    "custom_vjp_call", "device_put", "div", "dynamic_slice", "eq", "expand_dims", "floor", "ge",
    "gt", "integer_pow", "iota", "jit", "le", "lt", "max", "min", "mul", "ne", "neg", "not",
    "one_minus_square", "or", "pad", "pjit", "pvary", "random_wrap", "random_unwrap", "remat2",
    "checkpoint", "reshape",
    "rev", "rem", "scan", "select_n", "shard_map", "sign", "slice", "split", "square", "squeeze",
    "stop_gradient", "sub", "transpose", "while", "xor", "mul_add", "and_then", "pbroadcast",
    "convert_element_type_p", "optimization_barrier", "name", "random_seed", "random_fold_in",
})  # fmt: skip
"""Primitives that cost next to nothing, or only enclose others."""

_OPCODES = {
    "exp": "exponential", "expm1": "exponential-minus-one", "log": "log", "log1p": "log-plus-one",
    "logistic": "logistic", "tanh": "tanh", "sin": "sine", "cos": "cosine", "tan": "tan",
    "pow": "power", "sqrt": "sqrt", "rsqrt": "rsqrt", "cbrt": "cbrt", "erf": "erf",
    "atan2": "atan2", "sort": "sort", "dot_general": "dot", "reduce_max": "reduce",
    "reduce_min": "reduce",
}  # fmt: skip
"""The opcode that a primitive becomes when nothing is merged."""


def merged_lines(
    program: Program, stage: Stage, module: HloModule, source: int, lowered: Callable[[], Stage]
) -> tuple[MergedLine, ...]:
    """Lines with costly equations and no instruction of their own.

    Such as `exp(b)` followed by `c * c`, which becomes `exp(b + b)` with the product's name, or two
    reductions that become one. `lowered` gives the StableHLO, to exclude equations that JAX dropped
    because no result depends on them; it is called only when there are candidates.
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
            own.update(anchor.equations)
    lines = lines_of_equations(program.equations, source)
    # A line with any instruction has a time, whichever of its equations is named.
    present = {lines[i] for i in own if i in lines}
    lost: dict[SourceLine, list[int]] = {}
    for equation in program.equations:
        place = lines.get(equation.id)
        if place is not None and place not in present and equation.primitive not in _CHEAP:
            lost.setdefault(place, []).append(equation.id)
    if not lost:
        return ()
    reached = {i for anchor in lowered().anchors for i in anchor.equations}
    if reached:
        lost = {p: kept for p, ids in lost.items() if (kept := [i for i in ids if i in reached])}
    by_line = {a.line: a for a in stage.anchors}
    rows: list[MergedLine] = []
    for place, ids in sorted(lost.items()):
        into: set[int] = set()
        for name in (name for i in ids for name in traces.get(i, ())):
            instruction = module.instruction(name)
            for operand in instruction.operands if instruction is not None else ():
                made = module.instruction(operand)
                anchor = by_line.get(made.line) if made is not None else None
                into |= {lines[i].line for i in (anchor.equations if anchor else ()) if i in lines}
        primitives = dict.fromkeys(program.equations[i].primitive for i in ids)
        into = into or _doing(primitives, program, stage, module, lines)
        rows.append(MergedLine(place, tuple(primitives), tuple(sorted(into - {place.line}))))
    return tuple(rows)


def with_merged(
    measured: Mapping[SourceLine, float], merged: Iterable[MergedLine]
) -> Mapping[SourceLine, float]:
    """Seconds of isolated lines, with each merged line's given to the lines that do its work."""
    found = dict(measured)
    for row in merged:
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
    lines: Mapping[int, SourceLine],
) -> set[int]:
    """Lines whose tag is on an instruction that does such work without requesting it.

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
        if instruction.opcode == "reduce":  # argmax computes the maximum, too
            other = tagged.primitive in {"argmax", "argmin"}
        if other and tagged.id in lines:
            found.add(lines[tagged.id].line)
    return found
