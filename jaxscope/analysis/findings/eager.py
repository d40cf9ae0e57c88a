"""JAX operations that run one by one in a loop, outside any jit."""

from __future__ import annotations

from collections.abc import Iterator

from jaxscope.analysis.findings.evidence import Evidence
from jaxscope.analysis.findings.loops import loop_ranges
from jaxscope.analysis.findings.source_code import Reading
from jaxscope.model import (
    CompileKind,
    Finding,
    FindingKind,
    Form,
)
from jaxscope.words import count, seconds

EAGER_COMPILES = 8
"""Compiles of one line in a loop: `x[:i]` compiles once for every `i`, 15-40 ms each."""
EAGER_CALLS = 100
"""Operations run one by one on a line in a loop: 20 µs each, 2 ms together."""


def eager(evidence: Evidence, reading: Reading) -> Iterator[Finding]:
    """Lines of loops outside any jit, where JAX runs or compiles operation by operation."""
    cell = reading.cell
    if cell is None or evidence.record.form is not Form.DECORATOR:
        return
    ranges = loop_ranges(cell)
    compiled: dict[int, list[float]] = {}
    for made in evidence.record.compiles:
        if made.kind is CompileKind.EAGER and made.site is not None and made.site.source == 0:
            compiled.setdefault(made.site.span.line, []).append(made.total_s)
    ran = dict(evidence.dispatched)
    lines = [
        line
        for line in compiled.keys() | ran.keys()
        if any(first <= line <= last for first, last in ranges)
        and (len(compiled.get(line, ())) >= EAGER_COMPILES or ran.get(line, 0) >= EAGER_CALLS)
    ]
    if not lines:
        return
    line = max(lines, key=lambda n: (sum(compiled.get(n, ())), ran.get(n, 0)))
    times = compiled.get(line, [])
    parts = [f"Line {line} ran {ran[line]} operations one by one"] if line in ran else []
    if times:
        parts.append(
            f"line {line} compiled {count(len(times), 'operation')} in {seconds(sum(times))}"
        )
    more = f", and {count(len(lines) - 1, 'further line')} did alike" if len(lines) > 1 else ""
    said = "; ".join(parts)
    yield Finding(
        FindingKind.EAGER,
        line,
        "The loop runs JAX operations one by one outside any `jax.jit`"
        + (
            ", and compiles some of them anew on each pass."
            if len(times) >= EAGER_COMPILES
            else "."
        ),
        "Put the body into a function under `@jax.jit`; for slices that grow use "
        "`jax.lax.dynamic_slice` with a fixed size, or a mask.",
        f"{said[:1].upper()}{said[1:]}{more}.",
    )
