"""From a finding to the change that it advises: pure text in, edited text or an option out."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from jaxscope.analysis.variants import constants, forms, loops
from jaxscope.model import Finding, FindingKind, Record
from jaxscope.model.variants import Aim, Change

__all__ = ["VARIANTS", "change_of"]

Rule = Callable[[Finding, str], Change | str]
_DONATED = re.compile(r"`-d ([\w,]+)`")


def missed_donation(finding: Finding, text: str) -> Change | str:
    """The cell with `-d`."""
    named = _DONATED.search(finding.fix)
    if named is None:
        return "The cell jits the function itself, whose donated arguments are gone after one call."
    names = tuple(named[1].split(","))
    return Change(f"donate {', '.join(names)}", finding.line, donate=names, aim=Aim.MEMORY)


def host_transfer(finding: Finding, text: str) -> Change | str:
    """NumPy arguments that are on the device before the call."""
    if "NumPy" not in finding.message + finding.evidence:
        return "The result is fetched in a loop: only you know when it is needed."
    return Change("the NumPy arguments on the device, once", finding.line, on_device=True)


VARIANTS: Mapping[FindingKind, Rule | str] = {
    FindingKind.TRACE_TIME_SIDE_EFFECT: "The fix changes what the code does, not its speed.",
    FindingKind.FLOAT64_DISABLED: "The fix is a choice of precision, not of speed.",
    FindingKind.KEY_REUSE: "The fix changes the numbers on purpose.",
    FindingKind.NAN_GRADIENT: "The fix changes a wrong gradient, not its speed.",
    FindingKind.EXP_OVERFLOW: "The fix changes a wrong result, not its speed.",
    FindingKind.NON_JAX_CONSTANT: "The array is converted in an earlier cell.",
    FindingKind.TRAINING_LOOP: loops.rolled,
    FindingKind.UNROLLED_LOOP: loops.rolled,
    FindingKind.SEQUENTIAL_VMAP: forms.sequential_vmap,
    FindingKind.SEQUENTIAL_MAP: forms.sequential_map,
    FindingKind.TYPE_PROMOTION: forms.type_promotion,
    FindingKind.COND_TO_SELECT: forms.cond_to_select,
    FindingKind.CAPTURED_CONSTANT: constants.captured_constant,
    FindingKind.CONSTANT_FOLDED: "Nothing is left to time: the data must come from outside.",
    FindingKind.FULL_SORT: forms.full_sort,
    FindingKind.ONE_HOT_MATMUL: forms.one_hot_matmul,
    FindingKind.EXPLICIT_INVERSE: forms.explicit_inverse,
    FindingKind.MASKED_REDUCTION: "What stands for the padding decides on what the mask has to be.",
    FindingKind.SLOW_TRACING: "The time is in Python code, which moves to an earlier cell.",
    FindingKind.EAGER: "The loop body becomes a function: which one is a choice of design.",
    FindingKind.CALLBACK: "A callback has effects, which are not repeated.",
    FindingKind.HOST_TRANSFER: host_transfer,
    FindingKind.RESHARDING: "The sharding is chosen where the array is made, in an earlier cell.",
    FindingKind.REPLICATED_COMPUTATION: "The sharding is chosen where the arrays are made.",
    FindingKind.MISSED_DONATION: missed_donation,
    FindingKind.SAVED_RESIDUALS: forms.saved_residuals,
    FindingKind.HOST_BOUND: "More work per call is a change of the calling code.",
    FindingKind.UNCERTAIN_FIGURE: "It is about a figure of the report, not about the code.",
    FindingKind.APPROXIMATE_SOURCE_MAPPING: "It is about the links of the report, not the code.",
}
"""The rewrite of each kind of finding, or the reason why there is none."""


def change_of(finding: Finding, record: Record) -> Change | str:
    """The change that a finding advises, or the reason why none is tried."""
    rule = VARIANTS[finding.kind]
    if isinstance(rule, str):
        return rule
    if finding.source >= len(record.sources):
        return "The source of the finding is not in the report."
    text = record.sources[finding.source].text
    try:
        return rule(finding, text)
    except SyntaxError:
        return "The source is not plain Python, so it cannot be edited."
