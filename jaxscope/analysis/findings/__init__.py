"""Findings: advice with evidence, drawn from the record of a run.

A finding that is wrong costs more trust than a missed one gains, so each rule is silent when a fact
that it needs is missing, and thresholds say where they come from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress

from jaxscope.analysis.findings.calls import calls
from jaxscope.analysis.findings.checkpoint import checkpoint
from jaxscope.analysis.findings.constants import constants, count_computing
from jaxscope.analysis.findings.donation import donation
from jaxscope.analysis.findings.doubts import doubts
from jaxscope.analysis.findings.eager import eager
from jaxscope.analysis.findings.evidence import Evidence, Happened, NameFact
from jaxscope.analysis.findings.loops import loops, tqdm_loops
from jaxscope.analysis.findings.precision import precision
from jaxscope.analysis.findings.random_and_clock import draws
from jaxscope.analysis.findings.sharding import devices
from jaxscope.analysis.findings.side_effects import output
from jaxscope.analysis.findings.source_code import Reading
from jaxscope.analysis.findings.state import state
from jaxscope.analysis.findings.transfers import transfers
from jaxscope.analysis.findings.vmap import batching
from jaxscope.model import Finding, FindingKind

__all__ = ["RULES", "Evidence", "Happened", "NameFact", "count_computing", "findings"]

Rule = Callable[[Evidence, Reading], Iterator[Finding]]

RULES: tuple[Rule, ...] = (
    output,
    draws,
    state,
    tqdm_loops,
    constants,
    loops,
    batching,
    precision,
    calls,
    transfers,
    donation,
    checkpoint,
    devices,
    eager,
    doubts,
)

# Wrong results first, then what costs most, then doubts.
_ORDER = (
    FindingKind.TRACE_ONLY_EFFECT,
    FindingKind.FLOAT64_DISABLED,
    FindingKind.FOREIGN_CONSTANT,
    FindingKind.TRAINING_LOOP,
    FindingKind.UNROLLED_LOOP,
    FindingKind.BATCHED_LOOP,
    FindingKind.BOTH_BRANCHES,
    FindingKind.BAKED_CONSTANT,
    FindingKind.FOLDED,
    FindingKind.SLOW_TRACE,
    FindingKind.EAGER,
    FindingKind.CALLBACK,
    FindingKind.HOST_TRANSFER,
    FindingKind.RESHARDING,
    FindingKind.REPEATED_WORK,
    FindingKind.MISSED_DONATION,
    FindingKind.RESIDUALS,
    FindingKind.DISPATCH_BOUND,
    FindingKind.MEASUREMENT,
    FindingKind.UNTAGGED,
)


def findings(evidence: Evidence, rules: tuple[Rule, ...] = RULES) -> tuple[Finding, ...]:
    """All findings, the most important kinds first, each kind by line; none twice.

    A rule that fails loses what it had left to say; the others are not touched.
    """
    reading = Reading(evidence)
    found: dict[tuple[object, ...], Finding] = {}
    for rule in rules:
        with suppress(Exception):
            for finding in rule(evidence, reading):
                key = (finding.kind, finding.source, finding.line, finding.message)
                found.setdefault(key, finding)
    return tuple(
        sorted(
            found.values(),
            key=lambda f: (_ORDER.index(f.kind), f.source, f.line is None, f.line or 0),
        )
    )
