"""Findings: advice with evidence, drawn from the record of a run.

A wrong finding costs more trust than a missed one gains, so each rule is silent when a fact that it
needs is missing, and each threshold names its source.
"""

from collections.abc import Callable, Iterator

from jaxscope.analysis.findings.calls import calls, uncertainty
from jaxscope.analysis.findings.constants import constants, count_computing
from jaxscope.analysis.findings.costlier_forms import costlier_forms
from jaxscope.analysis.findings.eager_loops import eager
from jaxscope.analysis.findings.evidence import Evidence, NameFact, ObservedSideEffect, TracedCode
from jaxscope.analysis.findings.loops import loops, progress_bars
from jaxscope.analysis.findings.masks import masks
from jaxscope.analysis.findings.memory import checkpoints, donation
from jaxscope.analysis.findings.mutations import mutations
from jaxscope.analysis.findings.numerics import numerics
from jaxscope.analysis.findings.precision import precision, promotion
from jaxscope.analysis.findings.random_keys import key_reuse
from jaxscope.analysis.findings.sharding import sharding
from jaxscope.analysis.findings.side_effects import side_effects
from jaxscope.analysis.findings.transfers import transfers
from jaxscope.analysis.findings.vmap import vmap
from jaxscope.model import Finding, FindingKind

__all__ = ["RULES", "Evidence", "NameFact", "ObservedSideEffect", "count_computing", "findings"]

Rule = Callable[[Evidence, TracedCode], Iterator[Finding]]

RULES: tuple[Rule, ...] = (
    side_effects,
    mutations,
    progress_bars,
    constants,
    loops,
    vmap,
    precision,
    promotion,
    key_reuse,
    numerics,
    costlier_forms,
    masks,
    calls,
    transfers,
    donation,
    checkpoints,
    sharding,
    eager,
    uncertainty,
)


def findings(
    evidence: Evidence,
    rules: tuple[Rule, ...] = RULES,
    on_failure: Callable[[str], None] | None = None,
) -> tuple[Finding, ...]:
    """All findings in the order of `FindingKind`, each kind by line, without duplicates.

    A rule that raises ends the search, or with `on_failure` gives it a note for the report and
    costs its own findings only.
    """
    code = TracedCode(evidence)
    found: dict[tuple[object, ...], Finding] = {}
    for rule in rules:
        try:
            made = list(rule(evidence, code))
        except Exception as error:
            if on_failure is None:
                raise
            # One line, also for an error with a long text.
            reason = f"{type(error).__name__}: {error}".partition("\n")[0].removesuffix(": ")[:160]
            name = getattr(rule, "__name__", "?")
            on_failure(f"jaxscope: the rule `{name}` failed ({reason}); its findings are missing.")
            continue
        for finding in made:
            found.setdefault((finding.kind, finding.source, finding.line, finding.message), finding)
    order = list(FindingKind)
    return tuple(
        sorted(
            found.values(),
            key=lambda f: (order.index(f.kind), f.source, f.line is None, f.line or 0),
        )
    )
