"""JAX operations that run and compile one by one in a loop, outside any jit."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxscope.analysis.findings.evidence import Evidence
from jaxscope.analysis.findings.traced_code import TracedCode
from jaxscope.model import CompileKind, Finding, FindingKind, Form
from jaxscope.words import count, seconds

EAGER_COMPILES = 8
"""Compilations by one line in a loop: `x[:i]` compiles once for every `i`, 15-40 ms each."""


def eager(evidence: Evidence, traced: TracedCode) -> Iterator[Finding]:
    """The costliest line of a loop that compiles operation by operation."""
    cell = traced.cell
    if cell is None or evidence.record.form not in (Form.DECORATOR, Form.FUNCTION):
        return
    looped = {
        line
        for node in ast.walk(cell.tree)
        if isinstance(node, ast.For | ast.While)
        for line in range(node.body[0].lineno, (node.end_lineno or node.lineno) + 1)
    }
    compiled: dict[int, list[float]] = {}
    for made in evidence.record.compiles:
        if made.kind is CompileKind.EAGER and made.site is not None and made.site.source == 0:
            compiled.setdefault(made.site.span.line, []).append(made.total_s)
    found = {
        line: times
        for line, times in compiled.items()
        if line in looped and len(times) >= EAGER_COMPILES
    }
    if not found:
        return
    line, times = max(found.items(), key=lambda item: sum(item[1]))
    more = f", and {count(len(found) - 1, 'more line')} did the same" if len(found) > 1 else ""
    yield Finding(
        FindingKind.EAGER,
        line,
        "This loop runs JAX operations one by one outside `jax.jit`, and recompiles some in each "
        "iteration.",
        "Move the loop body into a function under `@jax.jit`. For growing slices, use a mask or "
        "`jax.lax.dynamic_slice` with a fixed size.",
        f"Line {line} compiled {count(len(times), 'operation')} in {seconds(sum(times))}{more}.",
    )
