"""What all findings about side effects of tracing have in common."""

from __future__ import annotations

from jaxscope.analysis.findings.code import Scope
from jaxscope.model import Finding, FindingKind


def trace_only(scope: Scope, line: int | None, message: str, fix: str, evidence: str) -> Finding:
    """A side effect that happens while tracing only."""
    return Finding(FindingKind.TRACE_ONLY_EFFECT, line, message, fix, evidence, scope.source)


def ran(scope: Scope) -> str:
    """Why it is known that the code ran while JAX traced it."""
    if not scope.name:
        return "In block form the whole cell runs while JAX traces it."
    return f"The body of `{scope.name}` ran while JAX traced it: the program has it inside."
