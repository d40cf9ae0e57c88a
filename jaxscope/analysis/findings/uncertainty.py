"""Caveats about the report itself, as findings, so that every view and export shows them."""

from __future__ import annotations

from collections.abc import Iterator

from jaxscope.analysis.findings.evidence import Evidence
from jaxscope.analysis.findings.traced_code import TracedCode
from jaxscope.model import Cost, Finding, FindingKind
from jaxscope.words import count, seconds

NOISY = 0.10
"""An interval of the median of more than ± 10 % hides differences that people look for."""


def uncertainty(evidence: Evidence, traced: TracedCode) -> Iterator[Finding]:
    """Approximate links, noisy times and estimated costs."""
    for program in evidence.record.programs:
        if not program.exact:
            why = program.inexact_why or "its equations carry no tags of this program"
            yield Finding(
                FindingKind.APPROXIMATE_SOURCE_MAPPING,
                None,
                f"Links between the source and the compiled stages of {program.title} are "
                "approximate or missing.",
                "Inspect the function before its first call, or call `jax.clear_caches()` and run "
                "again.",
                f"{why[:1].upper()}{why[1:].rstrip('.')}.",
            )
        call = program.call
        if call is not None and call.spread > NOISY:
            yield Finding(
                FindingKind.UNCERTAIN_FIGURE,
                None,
                f"The time per call is uncertain by ± {100 * call.spread:.0f} %.",
                "Run again on a quieter machine, or measure more runs with `-n`.",
                f"The median of {count(len(call.samples), 'round')} is between "
                f"{seconds(call.low_s)} and {seconds(call.high_s)} (95 % confidence).",
            )
        if isinstance(program.cost, Cost) and program.cost.warnings:
            yield Finding(
                FindingKind.UNCERTAIN_FIGURE,
                None,
                f"FLOPs and bytes of {program.title} are partly estimated.",
                "Use them as an estimate: only loops with a known trip count are counted exactly.",
                f"From the count: {'; '.join(d.rstrip('.') for d in program.cost.warnings)}.",
            )
