"""Doubts about the report itself, so that every view and export shows them."""

from __future__ import annotations

from collections.abc import Iterator

from jaxscope.analysis.findings.evidence import Evidence
from jaxscope.analysis.findings.source_code import Reading
from jaxscope.model import Cost, Finding, FindingKind
from jaxscope.words import count, seconds

NOISY = 0.10
"""An interval of the median of more than ± 10 % hides differences that people look for."""


def doubts(evidence: Evidence, reading: Reading) -> Iterator[Finding]:
    """Links that are not exact, noisy times, costs that hold a guess."""
    for program in evidence.record.programs:
        if not program.exact:
            yield Finding(
                FindingKind.UNTAGGED,
                None,
                f"Links between the source of {program.title} and its compiled stages are likely "
                "places, not exact ones.",
                "Run the function through `%%jaxjit` or `jaxscope.inspect` before it is compiled "
                "elsewhere, so that its equations can be tagged.",
                _sentence(program.inexact_why or "its equations carry no tags of this program"),
            )
        call = program.call
        if call is not None and call.spread > NOISY:
            yield Finding(
                FindingKind.MEASUREMENT,
                None,
                f"The time of a call is uncertain by {100 * call.spread:.0f} %.",
                "Run again on a quieter machine, or give more runs with `-n`.",
                f"The median of {count(len(call.samples), 'round')} lies between "
                f"{seconds(call.low_s)} and {seconds(call.high_s)} with 95 % confidence.",
            )
        if isinstance(program.cost, Cost) and program.cost.doubts:
            yield Finding(
                FindingKind.MEASUREMENT,
                None,
                f"FLOPs and bytes of {program.title} hold a guess.",
                "Take them as an estimate; loops with a known number of passes are exact.",
                f"From the count: {'; '.join(d.rstrip('.') for d in program.cost.doubts)}.",
            )


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."
