"""Contestants measured side by side: paired rounds in random order, on data of their own.

`run(plan)` is the whole of it; `jaxscope.compare` and `%%jaxbench` make the plan and draw the
record. The method and its sources are in `docs/benchmark-method.md`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jaxscope.bench.frameworks.implementation import Contestant, Prepared, Refusal, Task
from jaxscope.bench.plan import Entry, Limits, Plan, PlanError, Progress

if TYPE_CHECKING:
    from jaxscope.model.comparison import ComparisonRecord

__all__ = [
    "Contestant",
    "Entry",
    "Limits",
    "Plan",
    "PlanError",
    "Prepared",
    "Progress",
    "Refusal",
    "Task",
    "run",
]


def run(plan: Plan) -> ComparisonRecord:
    """Measure what the plan names.

    A contestant that is absent, fails or hangs becomes a row with the reason. An interrupt ends the
    measurement and keeps what there is. Raises PlanError when there is nothing sensible to do.
    """
    if plan.sessions > 1:
        from jaxscope.bench.processes import compare_in_sessions

        return compare_in_sessions(plan)
    from jaxscope.bench.measure import compare

    return compare(plan)
