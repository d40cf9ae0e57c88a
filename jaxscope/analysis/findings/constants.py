"""Data that became part of the program, and work that the compiler did once for all."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator

from jaxscope.analysis.findings.evidence import Evidence, NameFact
from jaxscope.analysis.findings.source_code import Reading, line_of, root, value_names
from jaxscope.analysis.hlo import HloTextError, parse_module, real_instructions
from jaxscope.model import Equation, Finding, FindingKind, Program, Value, ValueKind
from jaxscope.words import count, names, size

BAKED_BYTES = 64 * 1024
"""From here on a constant is worth a word. A dense literal takes two characters a byte in
StableHLO and is hashed with the program; an array of 64 × 64 float32 (16 kB) was seen to be folded
too, but rotary tables and small masks of that size are constants on purpose."""
SLOW_XLA_S = 5.0
"""Folding large constants is the usual cause when XLA works for longer than this on a program:
a sort of a captured 1000 × 1000 array took it 202 s."""

# These move or rename data; a program of nothing else has nothing that could be folded.
MOVES = frozenset(
    {"reshape", "broadcast_in_dim", "squeeze", "expand_dims", "transpose", "copy", "copy_p"}
    | {"convert_element_type", "device_put", "sharding_constraint", "jit", "pjit", "slice"}
    | {"stop_gradient", "custom_jvp_call", "custom_vjp_call", "closed_call", "core_call", "iota"}
    | {"concatenate", "pad", "rev", "select_n", "optimization_barrier", "random_wrap"}
    | {"random_unwrap", "bitcast_convert_type", "split"}
)

# Instructions that hold, move or spread data; what a fusion or call contains is counted by itself.
_IDLE = frozenset(
    {"copy", "copy-start", "copy-done", "broadcast", "iota", "reshape", "transpose", "slice"}
    | {"fusion", "call", "async-start", "async-done"}
)

_AVAL = re.compile(r"[a-z]+(\d*)[a-z0-9_]*\[([\d,]*)\]")  # `float32[4,8]`, `bool[3]`


def constants(evidence: Evidence, reading: Reading) -> Iterator[Finding]:
    """Baked constants, foreign arrays, folded programs."""
    foreign = [fact for fact in evidence.names if fact.foreign]
    yield from _foreign(evidence, reading, foreign)
    for index, program in enumerate(evidence.record.programs):
        yield from _baked(evidence, reading, program)
        if index < len(evidence.computing):
            yield from _folded(program, evidence.computing[index])


def count_computing(optimized_hlo: str) -> int | None:
    """Instructions of an optimized program that compute, rather than hold or move data.

    None when the text is not understood.
    """
    try:
        module = parse_module(optimized_hlo)
    except HloTextError:
        return None
    return sum(i.opcode not in _IDLE for i in real_instructions(module))


def _baked(evidence: Evidence, reading: Reading, program: Program) -> Iterator[Finding]:
    sized = [(value, _bytes(value)) for value in program.constants]
    large = sorted((v for v in sized if v[1] >= BAKED_BYTES), key=lambda v: -v[1])
    together = sum(number for _, number in sized)
    compiling = max((evidence.record.compiles[i].compile_s for i in program.compiles), default=0.0)
    slow = f" XLA worked {compiling:.1f} s on it." if compiling >= SLOW_XLA_S else ""
    for value, number in large:
        fact = _named(value, evidence, reading)
        source, line = _first_use(fact.name, reading) if fact is not None else (0, None)
        what = f"`{fact.name}`" if fact is not None else "An array"
        yield Finding(
            FindingKind.BAKED_CONSTANT,
            line,
            f"{what} ({value.aval}, {size(number)}) is a constant of the program: XLA compiles it "
            "in, may compute with it while compiling, and another value compiles again.",
            f"Pass {what if fact is not None else 'it'} as an argument to the function that uses "
            "it, instead of reading it from outside or making it with NumPy inside.",
            f"{program.title} captured {count(len(sized), 'array')} of {size(together)}.{slow}",
            source,
        )
    if not large and together >= BAKED_BYTES:
        yield Finding(
            FindingKind.BAKED_CONSTANT,
            None,
            f"{count(len(sized), 'array')} of {size(together)} together are constants of the "
            "program: XLA compiles them in, and other values compile again.",
            "Pass them as arguments, for instance all parameters as one dict.",
            f"{program.title} captured {count(len(sized), 'array')}; the largest has "
            f"{size(max(n for _, n in sized))}.{slow}",
        )


def _bytes(value: Value) -> int:
    """The size of a constant; by its aval where JAX keeps it as a literal (0.8)."""
    if value.bytes is not None:
        return value.bytes
    match = _AVAL.match(value.aval)
    if match is None:
        return 0
    bits = int(match[1]) if match[1] else 8
    return math.prod(int(n) for n in match[2].split(",") if n) * bits // 8


def _named(value: Value, evidence: Evidence, reading: Reading) -> NameFact | None:
    """The one name of the traced code that holds an array like this."""
    alike = [f for f in evidence.names if f.aval and f.aval == value.aval]
    read = [fact for fact in alike if _first_use(fact.name, reading)[1] is not None]
    return read[0] if len(read) == 1 else None


def _first_use(name: str, reading: Reading) -> tuple[int, int | None]:
    """(source, line) where traced code first reads a name of the namespace."""
    for scope in reading.scopes:
        for node in scope.nodes():
            if (
                isinstance(node, ast.Name)
                and node.id == name
                and isinstance(node.ctx, ast.Load)
                and name not in scope.own
            ):
                return scope.source, node.lineno
    return 0, None


def _foreign(evidence: Evidence, reading: Reading, facts: list[NameFact]) -> Iterator[Finding]:
    if not any(program.equations for program in evidence.record.programs):
        return
    kinds = {fact.name: fact.kind for fact in facts}
    for program in evidence.record.programs:
        for value in program.inputs:
            if value.kind is ValueKind.STATIC and "baked in as a constant" in value.reason:
                kinds.setdefault(root(value.name), value.reason.partition(",")[0])
    for name, kind in kinds.items():
        use = _value_use(name, reading)
        if use is None:
            continue
        source, line = use
        yield Finding(
            FindingKind.FOREIGN_CONSTANT,
            line,
            f"`{name}` is a {kind}, which JAX cannot trace: its values are baked into the program "
            "as a constant, and other values compile again.",
            f"Convert it before: `{name} = jnp.asarray({_as_numpy(name, kind)})`.",
            f"`{name}` was a {kind} when the cell ran, and line {line} uses its values.",
            source,
        )


def _as_numpy(name: str, kind: str) -> str:
    return f"{name}.to_numpy()" if kind.startswith(("pandas", "polars")) else name


def _value_use(name: str, reading: Reading) -> tuple[int, int] | None:
    """Where traced code uses the values of a name, and not only its shape or columns."""
    for scope in reading.scopes:
        if name in scope.own:
            continue
        for node in scope.nodes():
            match node:
                case ast.Expr(value=ast.Call(func=ast.Name(id="print" | "display"))):
                    continue
                case ast.Assign() | ast.AugAssign() | ast.AnnAssign() | ast.Return() | ast.Expr():
                    value = node.value
                    if value is not None and name in value_names(value):
                        return scope.source, line_of(node)
                case _:
                    continue
    return None


def _folded(program: Program, computing: int | None) -> Iterator[Finding]:
    work = [e for e in program.equations if e.primitive not in MOVES and not _is_container(e)]
    # A program that takes arguments and computes nothing may hand them on on purpose.
    takes = any(v.kind in (ValueKind.TRACED, ValueKind.DONATED) for v in program.inputs)
    if computing != 0 or takes or not work or not program.outputs:
        return
    first = next((e for e in work if e.span is not None), None)
    home = first.frames[0].source if first is not None and first.frames else 0
    in_cell = first is not None and any(f.source == 0 for f in first.frames)
    computes = "computes" if len(work) == 1 else "compute"
    reason = "no result depends on an argument"
    fix = (
        "Pass the data as arguments, for instance by making it in a cell before; a time measured "
        "here is that of the call alone."
    )
    if program.differentiation is not None and any(
        v.kind is ValueKind.UNUSED for v in program.inputs
    ):
        reason = "the derivative is the same whatever the inputs are"
        fix = (
            "Differentiate what is not linear in its inputs, if that was meant; a time measured "
            "here is that of the call alone."
        )
    yield Finding(
        FindingKind.FOLDED,
        first.span.line if first is not None and first.span is not None else None,
        f"{program.title} computes nothing when it runs: {reason}, so the compiler did the work "
        "once, at compile time.",
        fix,
        f"{count(len(work), 'equation')} of the jaxpr {computes} something "
        f"({names(_kinds(work))}), and no instruction of the optimized HLO does.",
        0 if in_cell or home is None else home,
    )


def _is_container(equation: Equation) -> bool:
    return equation.primitive.startswith("custom_") or equation.primitive.endswith("_call")


def _kinds(equations: list[Equation]) -> list[str]:
    return list(dict.fromkeys(equation.primitive for equation in equations))
