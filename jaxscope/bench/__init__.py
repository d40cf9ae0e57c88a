"""Implementations measured side by side: paired rounds in random order, each on its own data.

`run(plan)` measures; `jaxscope.compare` and `%%jaxbench` build the plan and show the record. The
method and its sources are in `docs/benchmark-method.md`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jaxscope.bench.frameworks.implementation import Implementation, Prepared, Refusal, Task
from jaxscope.bench.plan import Entry, Limits, Plan, PlanError, Progress

if TYPE_CHECKING:
    from jaxscope.model.comparison import ComparisonRecord

__all__ = [
    "Entry",
    "Implementation",
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
    """Measure a plan.

    An implementation that is not installed, fails or hangs becomes a row with the reason. An
    interrupt ends the measurement and keeps the rounds so far. Raises PlanError for a plan that
    cannot be measured.
    """
    if plan.processes > 1:
        from jaxscope.bench.processes import compare_in_processes

        return compare_in_processes(plan)
    from jaxscope.bench.measure import compare

    return compare(plan)
