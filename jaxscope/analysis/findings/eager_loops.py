"""Loops whose operations run and compile one by one, outside any jit."""

import ast
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

from jaxscope.analysis.compiles.series import describe
from jaxscope.analysis.findings.evidence import Evidence, TracedCode
from jaxscope.model import Compile, CompileKind, Finding, FindingKind, Form
from jaxscope.words import count, seconds

EAGER_COMPILES = 8
"""Compilations by one loop: `x[:i]` compiles once for every `i`, 15-40 ms each, and a step or an
evaluation outside jit each of its operations once."""

EAGER_AGAIN = 4
"""Of the same operation on one line."""

_JIT_OF = {"nnx": "nnx.jit", "eqx": "eqx.filter_jit", "equinox": "equinox.filter_jit"}
"""The jit of a library, by the usual name of its package: a module of Flax Linen is static."""


def eager(evidence: Evidence, traced: TracedCode) -> Iterator[Finding]:
    """The costliest loop that compiles operation by operation."""
    cell = traced.cell
    if cell is None or evidence.record.form not in (Form.DECORATOR, Form.FUNCTION):
        return
    loops = [node for node in ast.walk(cell.tree) if isinstance(node, ast.For | ast.While)]
    by_loop: dict[ast.For | ast.While, dict[int, list[Compile]]] = {}
    for made in evidence.record.compiles:
        own = _own_lines(made)
        line = next((line for line in own if any(_runs(loop, line) for loop in loops)), 0)
        if made.kind is CompileKind.EAGER and line:
            around = [loop for loop in loops if _runs(loop, line)]
            innermost = max(around, key=lambda loop: loop.lineno)
            by_loop.setdefault(innermost, {}).setdefault(line, []).append(made)
    found = [lines for loop, lines in by_loop.items() if _is_eager(loop, lines)]
    if not found:
        return
    lines = max(
        found, key=lambda lines: sum(one.total_s for made in lines.values() for one in made)
    )
    line, slow = max(lines.items(), key=lambda item: sum(one.total_s for one in item[1]))
    times = [one.total_s for one in slow]
    others = sum(map(len, lines.values())) - len(slow)
    more = f", and the rest of the loop {others} more" if others else ""
    message = "This loop runs JAX operations one by one outside `jax.jit`, and "
    fix = "Move the loop body into a function under `@jax.jit`."
    if module := _call_of_module(cell.tree, slow, line):
        fix = module
    elif called := _called(slow, line):
        fix = f"Compile `{called}` with `jax.jit`; where its sizes depend on values, use a mask."
    if _has_new_shapes(slow):
        message += "recompiles some in each iteration."
        fix += " For growing slices, use a mask or `jax.lax.dynamic_slice` with a fixed size."
    else:  # in each iteration, or for the leaves of a pytree in the first one
        message += "compiles each once per shape."
    yield Finding(
        FindingKind.EAGER,
        line,
        message,
        fix,
        f"Line {line} compiled {count(len(times), 'operation')} in {seconds(sum(times))}{more}.",
    )


def _runs(loop: ast.For | ast.While, line: int) -> bool:
    """Whether a line is in the body of a loop."""
    return loop.body[0].lineno <= line <= (loop.end_lineno or loop.lineno)


def _is_eager(loop: ast.For | ast.While, lines: Mapping[int, Sequence[Compile]]) -> bool:
    """Whether a loop compiles more than a few operations. The outer ones of nested loops often do
    so for a shuffle or a logged value: of them, only lines that compile the same again count."""
    if not any(
        isinstance(node, ast.For | ast.While) for node in ast.walk(loop) if node is not loop
    ):
        return sum(map(len, lines.values())) >= EAGER_COMPILES
    return any(
        len(made) >= EAGER_COMPILES
        and max(Counter(one.fun_name for one in made).values()) >= EAGER_AGAIN
        for made in lines.values()
    )


def _call_of_module(tree: ast.AST, made: Sequence[Compile], line: int) -> str:
    """The fix of a loop over the layers of a module, whose methods are no functions to jit alone;
    empty for other loops."""
    tops = Counter(_own_lines(one)[-1] for one in made)
    top = tops.most_common(1)[0][0]
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.ClassDef)
            and node.lineno <= line <= (node.end_lineno or line) < top
        ):
            for base in map(ast.unparse, node.bases):
                if base.rpartition(".")[2] == "Module":
                    jit = _JIT_OF.get(base.partition(".")[0], "jax.jit")
                    return f"Compile the call of the module on line {top} with `{jit}`."
    return ""


def _own_lines(made: Compile) -> list[int]:
    """The lines of the cell that led to a compilation, the innermost first."""
    frames = () if made.site is None else (made.site, *made.stack)
    return [frame.span.line for frame in frames if frame.source == 0]


def _called(made: Sequence[Compile], line: int) -> str:
    """The function of the cell that a line calls, where it takes most of the time of these."""
    times: defaultdict[str, float] = defaultdict(float)
    for one in made:
        frames = () if one.site is None else (one.site, *one.stack)
        own = [frame for frame in frames if frame.source == 0]
        at = next(i for i, frame in enumerate(own) if frame.span.line == line)
        times[own[at - 1].function if at else ""] += one.total_s
    longest = max(times, key=times.__getitem__)
    return longest if times[longest] > sum(times.values()) / 2 else ""


def _has_new_shapes(made: Sequence[Compile]) -> bool:
    """Whether the shape of an operation's argument grows or shrinks by a rule."""
    shapes: dict[str, list[str]] = {}
    for one in made:
        shapes.setdefault(one.fun_name, []).extend(one.signature[:1])
    series = [
        describe(name, values) for name, values in shapes.items() if len(values) >= EAGER_AGAIN
    ]
    return any(found is not None and found.regular for found in series)
