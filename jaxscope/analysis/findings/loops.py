"""Python loops that JAX unrolled: their body stands in the program once for every pass."""

from __future__ import annotations

import ast
import statistics
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from jaxscope.analysis.findings.evidence import Evidence
from jaxscope.analysis.findings.source_code import Reading, Scope
from jaxscope.analysis.python.parse import Code
from jaxscope.model import Equation, Finding, FindingKind, Phase, Program
from jaxscope.words import count, seconds

COPIES = 16
"""Passes from which a loop is said to be unrolled. A loop over the layers of a network, with 2 to
12 passes whose bodies differ, is how networks are written; a reported 15-pass loop took 6 minutes
to compile, which `SLOW_COMPILE_S` catches."""
EQUATIONS = 64
"""Equations of all copies together: below, compiling them takes milliseconds."""
FEW_COPIES = 4
SLOW_COMPILE_S = 10.0
"""With a compile this long, a loop of a few passes that makes up half the program is worth it."""
STEPS = 8
"""Steps of a training loop inside the program. Inner loops of meta-learning have 1 to 5."""

# Present in some passes only, such as where a Python number meets an array first.
_TRIVIAL = frozenset(
    {"convert_element_type", "broadcast_in_dim", "squeeze", "reshape", "copy", "jit", "pjit"}
)
_LOOPS = (ast.For, ast.AsyncFor, ast.While, ast.ListComp, ast.SetComp, ast.DictComp)
Loop = ast.For | ast.AsyncFor | ast.While | ast.ListComp | ast.SetComp | ast.DictComp
Place = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Unrolled:
    """A loop with what the program holds of it."""

    code: Code
    node: Loop
    copies: int
    equations: tuple[Equation, ...]


def loops(evidence: Evidence, reading: Reading) -> Iterator[Finding]:
    """Unrolled loops, outermost first, training loops told apart."""
    for program in evidence.record.programs:
        compiling = sum(evidence.record.compiles[i].total_s for i in program.compiles)
        found = [u for code in reading.codes for u in _unrolled(code, program)]
        said = [u for u in found if _is_worth_saying(u, program, compiling)]
        outer = [u for u in said if not any(_holds(other, u) for other in said)]
        for unrolled in outer:
            yield _say(unrolled, program, compiling)


def tqdm_loops(evidence: Evidence, reading: Reading) -> Iterator[Finding]:
    """Progress bars around loops that were unrolled: they show how tracing proceeds."""
    if not any(module.partition(".")[0] == "tqdm" for module in reading.modules.values()):
        return
    for program in evidence.record.programs:
        for code in reading.codes:
            for unrolled in _unrolled(code, program):
                node = unrolled.node
                if not isinstance(node, ast.For) or unrolled.copies < 2:
                    continue
                if not _is_bar(node.iter, reading):
                    continue
                yield Finding(
                    FindingKind.TRACE_ONLY_EFFECT,
                    node.lineno,
                    "The progress bar shows how tracing proceeds, not how the program runs: a "
                    "compiled call never advances it.",
                    "Keep the loop outside the compiled function and call one step in it, or "
                    "report from inside with `jax.debug.callback`.",
                    f"{count(len(unrolled.equations), 'equation')} of {program.title} come from "
                    "the body of its loop.",
                    code.index,
                )


def _is_bar(call: ast.expr, reading: Reading) -> bool:
    if not isinstance(call, ast.Call):
        return False
    name = reading.dotted(call.func)
    return name.partition(".")[0] == "tqdm" and name.rpartition(".")[2] in ("tqdm", "trange")


def _unrolled(code: Code, program: Program) -> Iterator[Unrolled]:
    """Each loop of a source that holds the equations for which it is the innermost loop."""
    nodes = [node for node in ast.walk(code.tree) if isinstance(node, _LOOPS)]
    ranges = [_body_range(code, node) for node in nodes]
    if not nodes:
        return
    mine: dict[int, list[tuple[Equation, int]]] = {}
    every: dict[int, list[Equation]] = {}
    places: dict[Place, list[int]] = {}
    for equation in program.equations:
        innermost: tuple[int, int] | None = None
        holding: set[int] = set()
        for depth, frame in enumerate(equation.frames):
            if frame.source != code.index:
                continue
            place = (frame.span.line, frame.span.column)
            if place not in places:
                places[place] = [i for i, r in enumerate(ranges) if r[0] <= place < r[1]]
            inside = places[place]
            holding.update(inside)
            if inside and innermost is None:
                # `ast.walk` goes breadth first, so the last is the innermost.
                innermost = (max(inside, key=lambda i: ranges[i][0]), depth)
        for index in holding:
            every.setdefault(index, []).append(equation)
        if innermost is not None:
            mine.setdefault(innermost[0], []).append((equation, innermost[1]))
    for index, node in enumerate(nodes):
        if index in every:
            copies = _copies(mine.get(index, []), node)
            yield Unrolled(code, node, copies, tuple(every[index]))


def _copies(equations: Sequence[tuple[Equation, int]], node: ast.AST) -> int:
    """How often the loop's body stands in the program.

    At each place of the body, the primitive that is there least often tells the number of passes:
    library functions use others several times a pass. The median over the places then outvotes
    those under a condition. Never more than the passes that the text gives.
    """
    counts: Counter[tuple[object, str, Phase]] = Counter(
        (e.frames, e.primitive, e.phase) for e, _ in equations if e.primitive not in _TRIVIAL
    )
    if not counts:
        return 0
    least: dict[tuple[object, Phase], int] = {}
    for (frames, _, phase), number in counts.items():
        key = (frames, phase)
        least[key] = min(number, least.get(key, number))
    copies = int(statistics.median_low(least.values()))
    given = _passes(node)
    return copies if given is None else min(copies, given)


def _passes(node: ast.AST) -> int | None:
    """The passes of a loop over a literal range or sequence."""
    match node:
        case ast.For(iter=iterable):
            pass
        case ast.ListComp(generators=[ast.comprehension(iter=iterable)]):
            pass
        case _:
            return None
    match iterable:
        case ast.List(elts=elements) | ast.Tuple(elts=elements):
            return None if any(isinstance(e, ast.Starred) for e in elements) else len(elements)
        case ast.Call(func=ast.Name(id="range"), args=arguments):
            values = [_integer(argument) for argument in arguments]
            known = [value for value in values if value is not None]
            complete = bool(known) and len(known) == len(values)
            return len(range(*known)) if complete and known[2:3] != [0] else None
        case _:
            return None


def _integer(node: ast.expr) -> int | None:
    match node:
        case ast.Constant(value=int() as value):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() as value)):
            return -value
        case _:
            return None


def _body_range(code: Code, node: Loop) -> tuple[Place, Place]:
    match node:
        case ast.For() | ast.AsyncFor() | ast.While():
            first, last = node.body[0], node.body[-1]
        case ast.DictComp():
            first, last = node.key, node.value
        case _:
            first = last = node.elt
    end_line, end_column = last.end_lineno or last.lineno, last.end_col_offset or 0
    return code.position(first.lineno, first.col_offset), code.position(end_line, end_column)


def _holds(outer: Unrolled, inner: Unrolled) -> bool:
    if outer is inner or outer.code is not inner.code:
        return False
    first, last = _body_range(outer.code, outer.node)
    return first <= (inner.node.lineno, inner.node.col_offset) < last


def _is_worth_saying(unrolled: Unrolled, program: Program, compiling: float) -> bool:
    number, copies = len(unrolled.equations), unrolled.copies
    if copies >= COPIES and number >= EQUATIONS:
        return True
    if copies >= STEPS and number >= EQUATIONS and _trains(unrolled):
        return True
    return (
        copies >= FEW_COPIES
        and compiling >= SLOW_COMPILE_S
        and 2 * number >= len(program.equations)
    )


def _trains(unrolled: Unrolled) -> bool:
    """Whether the body takes a gradient and changes what it reads."""
    node = unrolled.node
    if not isinstance(node, ast.For | ast.While):
        return False
    body = [inner for statement in node.body for inner in ast.walk(statement)]
    words = {n.id for n in body if isinstance(n, ast.Name)}
    words |= {n.attr for n in body if isinstance(n, ast.Attribute)}
    stored = {n.id for n in body if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    read = {n.id for n in body if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    takes_gradient = any("grad" in word.lower() for word in words)
    backward = any(e.phase is Phase.BACKWARD for e in unrolled.equations)
    return takes_gradient and backward and bool(stored & read)


def _say(unrolled: Unrolled, program: Program, compiling: float) -> Finding:
    node, copies, number = unrolled.node, unrolled.copies, len(unrolled.equations)
    line = int(getattr(node, "lineno", 0))
    evidence = (
        f"{number} of the {count(len(program.equations), 'equation')} of {program.title} come "
        f"from its body, which stands there about {copies} times."
    )
    if compiling:
        evidence += f" Tracing, lowering and compiling took {seconds(compiling)}."
    if _trains(unrolled):
        return Finding(
            FindingKind.TRAINING_LOOP,
            line,
            f"The training loop is inside the compiled program: its {copies} steps were unrolled, "
            "and the compile time grows with every further step.",
            "Compile one step and call it from a loop outside the program, or make the steps the "
            "body of `jax.lax.scan`.",
            evidence,
            unrolled.code.index,
        )
    while_loop = isinstance(node, ast.While)
    loop = "`jax.lax.while_loop`" if while_loop else "`jax.lax.scan` or `jax.lax.fori_loop`"
    return Finding(
        FindingKind.UNROLLED_LOOP,
        line,
        f"The Python loop was unrolled into {copies} copies of its body, and the compile time "
        "grows with every further pass.",
        f"Use {loop} when each pass needs the result of the one before, or `jax.vmap` when the "
        "passes do not depend on each other.",
        evidence,
        unrolled.code.index,
    )


def loop_ranges(scope: Scope | Code) -> list[tuple[int, int]]:
    """First and last line of every loop's body in a text."""
    tree: Sequence[ast.AST] = scope.body if isinstance(scope, Scope) else [scope.tree]
    found = [n for root in tree for n in ast.walk(root) if isinstance(n, ast.For | ast.While)]
    return [(n.body[0].lineno, n.end_lineno or n.lineno) for n in found]
