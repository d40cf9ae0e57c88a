"""Data captured as constants of the program, and work that XLA did at compile time."""

import ast
import math
import re
from collections.abc import Iterator, Sequence

from jaxscope.analysis.findings.evidence import (
    STATIC_ATTRIBUTES,
    Evidence,
    TracedCode,
    TracedScope,
    root,
    value_names,
)
from jaxscope.analysis.hlo import HloTextError, parse_module, real_instructions, too_long
from jaxscope.model import Finding, FindingKind, Program, Value, ValueKind
from jaxscope.model.program import BY_OPTION
from jaxscope.words import count, names, seconds, size

CAPTURED_BYTES = 64 * 1024
"""A dense literal takes two characters per byte in StableHLO and is hashed with the program. An
array of 64 × 64 float32 (16 kB) was observed to be folded too, but rotary tables and small masks of
that size are constants on purpose."""
SLOW_XLA_S = 5.0
"""Folding large constants is the usual reason when XLA needs longer than this for a program:
a sort of a captured 1000 × 1000 array took it 202 s."""

# These move or rename data; a program of nothing else has nothing to fold.
_MOVES = frozenset(
    {"reshape", "broadcast_in_dim", "squeeze", "expand_dims", "transpose", "copy", "copy_p"}
    | {"convert_element_type", "device_put", "sharding_constraint", "jit", "pjit", "slice"}
    | {"stop_gradient", "custom_jvp_call", "custom_vjp_call", "closed_call", "core_call", "iota"}
    | {"concatenate", "pad", "rev", "select_n", "optimization_barrier", "random_wrap"}
    | {"random_unwrap", "bitcast_convert_type", "split"}
)

# Instructions that hold, move or spread data; the contents of fusions and calls count themselves.
_IDLE = frozenset(
    {"copy", "copy-start", "copy-done", "broadcast", "iota", "reshape", "transpose", "slice"}
    | {"fusion", "call", "async-start", "async-done"}
)

_PASS_THEM = "Pass them as arguments, for example all parameters in one dict."
_NUMBERED = re.compile(r"constant( \d+)?")  # the name of a value that no known variable holds
_AVAL = re.compile(r"[a-z]+(\d*)[a-z0-9_]*\[([\d,]*)\]")  # `float32[4,8]`, `bool[3]`


def constants(evidence: Evidence, traced: TracedCode) -> Iterator[Finding]:
    """Captured constants, non-JAX arrays, constant-folded programs."""
    yield from _non_jax(evidence, traced)
    for index, program in enumerate(evidence.record.programs):
        yield from _captured(evidence, traced, program)
        if index < len(evidence.computing):
            yield from _folded(program, evidence.computing[index])


def count_computing(optimized_hlo: str) -> int | None:
    """Instructions of an optimized program that compute, rather than hold or move data.

    None when the text is too long or not understood.
    """
    if too_long(optimized_hlo):
        return None
    try:
        module = parse_module(optimized_hlo)
    except HloTextError:
        return None
    return sum(i.opcode not in _IDLE for i in real_instructions(module))


def _captured(evidence: Evidence, traced: TracedCode, program: Program) -> Iterator[Finding]:
    sized = [(value, _bytes(value)) for value in program.constants]
    large = sorted((v for v in sized if v[1] >= CAPTURED_BYTES), key=lambda v: -v[1])
    total = sum(number for _, number in sized)
    compiling = max((evidence.record.compiles[i].compile_s for i in program.compiles), default=0.0)
    slow = f" XLA compiled for {seconds(compiling)}." if compiling >= SLOW_XLA_S else ""
    captured = f"{program.title} captured {count(len(sized), 'array')}"
    groups: dict[str, list[tuple[Value, int]]] = {}
    for value, number in large:
        groups.setdefault(_variable(value, evidence, traced), []).append((value, number))
    for name, held in groups.items():
        scope, line = _first_use(root(name), traced)
        fix = f"Pass {f'`{name}`' if name else 'it'} as an argument to the function that uses it."
        if len(held) > 1 and not name:
            fix = _PASS_THEM
        if scope is not None and not scope.name:
            fix = f"Create `{name}` in an earlier cell, so that it becomes an argument."
        yield Finding(
            FindingKind.CAPTURED_CONSTANT,
            line,
            _message(name, held),
            fix,
            f"{captured} of {size(total)}.{slow}",
            source=0 if scope is None else scope.source,
        )
    if not large and total >= CAPTURED_BYTES:
        yield Finding(
            FindingKind.CAPTURED_CONSTANT,
            None,
            _message("", sized),
            _PASS_THEM,
            f"{captured}; the largest has {size(max(n for _, n in sized))}.{slow}",
        )


def _message(name: str, held: Sequence[tuple[Value, int]]) -> str:
    if len(held) > 1:
        where = f" in `{name}`" if name else ""
        return (
            f"{count(len(held), 'array')} of {size(sum(n for _, n in held))} together{where} are "
            "captured as constants: new values need a new compilation."
        )
    ((value, number),) = held
    path = value.name if root(value.name) == root(name) else name
    return (
        f"{f'`{path}`' if name else 'An array'} ({value.aval}, {size(number)}) is captured as a "
        "constant: a new value needs a new compilation."
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


def _variable(value: Value, evidence: Evidence, traced: TracedCode) -> str:
    """The variable to pass as an argument: the one that holds the array, else the one name of such
    an array that traced code reads. Empty for an unknown one."""
    if not _NUMBERED.fullmatch(value.name):
        name = root(value.name)
        return value.name if name == "self" else name  # which need not be a pytree
    known = {root(one.name) for program in evidence.record.programs for one in program.constants}
    alike = {fact.name for fact in evidence.names if fact.aval and fact.aval == value.aval}
    read = {name for name in alike - known if _first_use(name, traced)[0] is not None}
    return read.pop() if len(read) == 1 else ""


def _first_use(name: str, traced: TracedCode) -> tuple[TracedScope | None, int | None]:
    """The first use of a variable in traced code that does not assign it."""
    for scope in traced.scopes:
        for node in scope.nodes() if name not in scope.own else ():
            match node:
                case ast.Name(id=read, ctx=ast.Load()) if read == name:
                    return scope, node.lineno
                case _:
                    continue
    return None, None


def _non_jax(evidence: Evidence, traced: TracedCode) -> Iterator[Finding]:
    programs = evidence.record.programs
    if not any(program.equations for program in programs):
        return
    kinds = {fact.name: fact.kind for fact in evidence.names if fact.foreign}
    after = {fact.name for fact in evidence.names if fact.after}
    for program in programs:
        for value in program.inputs:
            if value.kind is ValueKind.STATIC and "captured as a constant" in value.reason:
                kinds.setdefault(root(value.name), value.reason.partition(",")[0])
    frames = [frame for one in programs for equation in one.equations for frame in equation.frames]
    computing = {(frame.source, frame.span.line) for frame in frames}
    for name, kind in kinds.items():
        use = _value_use(name, traced, computing, rebound=name not in after)
        if use is None:
            continue
        source, line, part = use
        to_numpy = ".to_numpy()" if kind.startswith(("pandas", "polars")) else ""
        fix = f": `{name} = jnp.asarray({name}{to_numpy})`"
        if part not in (name, f"{name}{to_numpy}"):
            fix = f", `values = jnp.asarray({part})`, and use `values`"
        yield Finding(
            FindingKind.NON_JAX_CONSTANT,
            line,
            f"`{name}` is of type `{kind}`, which JAX cannot trace: its values become a constant.",
            f"Convert it in an earlier cell{fix}.",
            f"Line {line} uses the values of `{name}`, not only its shape.",
            source=source,
        )


def _value_use(
    name: str, traced: TracedCode, computing: set[tuple[int | None, int]], *, rebound: bool
) -> tuple[int, int, str] | None:
    """Source, line and part of the first use of a name's values, not only of its shape or columns.

    With `rebound`, of the value before the run: not of one that the cell gives the name.
    """
    for scope in traced.scopes:
        for node in scope.nodes() if name not in scope.own else ():
            match node:
                case ast.Expr(value=ast.Call(func=ast.Name(id="print" | "display"))):
                    continue
                case ast.Assign(targets=[ast.Name(id=result)]) if not (
                    _is_read(result, scope) or _computes(node, scope.source, computing)
                ):
                    continue  # what another library computes, for the cell alone
                case ast.Assign() | ast.AugAssign() | ast.AnnAssign() | ast.Return() | ast.Expr():
                    value = node.value
                    if (
                        value is not None
                        and name in value_names(value)
                        and not (rebound and traced.is_rebound(name, node.lineno, scope))
                    ):
                        return scope.source, node.lineno, _part(name, value)
                case _:
                    continue
    return None


def _computes(node: ast.stmt, source: int, computing: set[tuple[int | None, int]]) -> bool:
    """Whether an equation is of a line of a statement."""
    lines = range(node.lineno, (node.end_lineno or node.lineno) + 1)
    return any((source, line) in computing for line in lines)


def _is_read(name: str, scope: TracedScope) -> bool:
    nodes = (node for node in scope.nodes() if isinstance(node, ast.Name) and node.id == name)
    return any(isinstance(node.ctx, ast.Load) for node in nodes)


def _part(name: str, value: ast.expr) -> str:
    """The part of a variable that an expression takes: `df['a'].values` of `df`."""
    longest = name
    for node in ast.walk(value):
        inner: ast.AST = node
        while True:
            match inner:
                case ast.Call(func=within, args=[], keywords=[]):
                    inner = within
                case ast.Subscript(value=within, slice=ast.Constant() | ast.List()):
                    inner = within
                case ast.Attribute(value=within, attr=attr) if attr not in STATIC_ATTRIBUTES:
                    inner = within
                case _:
                    break
        if isinstance(inner, ast.Name) and inner.id == name:
            longest = max(longest, ast.unparse(node), key=len)
    return longest


def _folded(program: Program, computing: int | None) -> Iterator[Finding]:
    work = [
        equation
        for equation in program.equations
        if equation.primitive not in _MOVES
        and not equation.primitive.startswith("custom_")
        and not equation.primitive.endswith("_call")
    ]
    # A program that takes arguments and computes nothing may return them on purpose.
    takes = any(v.kind in (ValueKind.TRACED, ValueKind.DONATED) for v in program.inputs)
    if computing != 0 or takes or not work or not program.outputs:
        return
    first = next((e for e in work if e.span is not None), None)
    source = first.frames[0].source if first is not None and first.frames else 0
    if first is not None and any(f.source == 0 for f in first.frames):
        source = 0
    reason = "no result depends on an argument"
    fix = "Pass the data as arguments, for example by creating it in an earlier cell."
    if static := [value.name for value in program.inputs if value.reason == BY_OPTION]:
        fix = f"Leave out `-s` for {names(static)}, which makes a constant of it."
    if program.gradient is not None and any(v.kind is ValueKind.UNUSED for v in program.inputs):
        reason = "the derivative does not depend on the inputs"
        fix = "If that was not intended, differentiate a function that is nonlinear in its inputs."
    kinds = list(dict.fromkeys(equation.primitive for equation in work))
    yield Finding(
        FindingKind.CONSTANT_FOLDED,
        first.span.line if first is not None and first.span is not None else None,
        f"XLA constant-folded {program.title} at compile time, because {reason}.",
        f"{fix} A time measured here is call overhead only.",
        f"{count(len(work), 'equation')} of the jaxpr {'computes' if len(work) == 1 else 'compute'}"
        f" ({names(kinds)}), but no instruction of the optimized HLO does.",
        source=source or 0,
    )
