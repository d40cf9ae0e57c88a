"""From a finding to the change that it advises: pure text in, edited text or an option out."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from jaxscope.analysis.variants import batches, constants, donation, eager, forms, loops
from jaxscope.model import Finding, FindingKind, Form, Record
from jaxscope.model.variants import Aim, Change

__all__ = ["VARIANTS", "change_of"]

_NAME = re.compile(r"`(\w+)`")
_NARROW = re.compile(r"astype\('(\w+)'\)")

Rule = Callable[[Finding, str], Change | str]


def host_transfer(finding: Finding, text: str) -> Change | str:
    """NumPy arguments that are on the device before the call."""
    if "NumPy" not in finding.message + finding.evidence:
        return "The result is fetched in a loop: only you know when it is needed."
    return Change("the NumPy arguments on the device, once", finding.line, on_device=True)


def float64_disabled(finding: Finding, text: str) -> Change | str:
    """NumPy arguments of 64 bits, converted once to the 32 that JAX computes in."""
    if "NumPy" not in finding.message:
        return "The fix is a choice of precision, not of speed."
    names = _NAME.findall(finding.message.partition(" NumPy ")[0])
    narrow = _NARROW.search(finding.fix)
    if not names or narrow is None:
        return "The finding names no argument."
    lines = "\n".join([f"{name} = {name}.astype({narrow[1]!r})" for name in names])
    title = f"{' and '.join(f'`{name}`' for name in names)} as {narrow[1]}, once"
    return Change(title, finding.line, narrow=True, lines=lines)


def unrolled_loop(finding: Finding, text: str) -> Change | str:
    """A `for` loop as `fori_loop` or `scan`; a list of independent results as `vmap`."""
    found = loops.rolled(finding, text)
    made = batches.sequential_map(finding, text) if isinstance(found, str) else found
    if isinstance(made, str):
        return found
    others = tuple([replace(one, aim=Aim.COMPILE) for one in made.others])
    return replace(made, aim=Aim.COMPILE, others=others)


VARIANTS: Mapping[FindingKind, Rule | str] = {
    FindingKind.TRACE_TIME_SIDE_EFFECT: "The fix changes what the code does, not its speed.",
    FindingKind.FLOAT64_DISABLED: float64_disabled,
    FindingKind.KEY_REUSE: "The fix changes the numbers on purpose.",
    FindingKind.NAN_GRADIENT: "The fix changes a wrong gradient, not its speed.",
    FindingKind.EXP_OVERFLOW: "The fix changes a wrong result, not its speed.",
    FindingKind.NON_JAX_CONSTANT: "The array is converted in an earlier cell.",
    FindingKind.TRAINING_LOOP: unrolled_loop,
    FindingKind.UNROLLED_LOOP: unrolled_loop,
    FindingKind.SEQUENTIAL_VMAP: batches.sequential_vmap,
    FindingKind.SEQUENTIAL_MAP: batches.sequential_map,
    FindingKind.TYPE_PROMOTION: forms.type_promotion,
    FindingKind.COND_TO_SELECT: batches.cond_to_select,
    FindingKind.CAPTURED_CONSTANT: constants.captured_constant,
    FindingKind.CONSTANT_FOLDED: "Nothing is left to time: the data must come from outside.",
    FindingKind.FULL_SORT: forms.full_sort,
    FindingKind.ONE_HOT_MATMUL: forms.one_hot_matmul,
    FindingKind.EXPLICIT_INVERSE: forms.explicit_inverse,
    FindingKind.MASKED_REDUCTION: forms.masked_reduction,
    FindingKind.SLOW_TRACING: "The time is in Python code, which moves to an earlier cell.",
    FindingKind.EAGER: eager.one_jit,
    FindingKind.CALLBACK: "A callback has effects, which are not repeated.",
    FindingKind.HOST_TRANSFER: host_transfer,
    FindingKind.RESHARDING: "The sharding is chosen where the array is made, in an earlier cell.",
    FindingKind.REPLICATED_COMPUTATION: "The sharding is chosen where the arrays are made.",
    FindingKind.MISSED_DONATION: donation.missed_donation,
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
    if finding.kind is FindingKind.EAGER and record.form is not Form.PROFILED:
        return "Profile the cell with %%jaxprof, which can time its eager lines."
    found: Change | str = _applied(rule, finding, record)
    for place in _inner(finding, record) if isinstance(found, str) else ():
        made = _applied(rule, place, record)
        if not isinstance(made, str):
            found = made
            break
    if rule is constants.captured_constant and isinstance(found, Change) and found.source:
        return constants.CALLED_ELSEWHERE
    return found


def _applied(rule: Rule, finding: Finding, record: Record) -> Change | str:
    try:
        return rule(finding, record.sources[finding.source].text)
    except SyntaxError:
        return "The source is not plain Python, so it cannot be edited."


def _inner(finding: Finding, record: Record) -> Iterator[Finding]:
    """The finding at the lines of functions that its line calls, which may hold the form."""
    if finding.line is None:
        return
    asked, seen = (finding.source, finding.line), set[tuple[int, int]]()
    for program in record.programs:
        for equation in program.equations:
            places = [(one.source, one.span.line) for one in equation.frames]
            if asked not in places:
                continue
            # Frames are listed from the innermost on.
            for source, line in places[: places.index(asked)]:
                if source is not None and (source, line) not in seen:
                    seen.add((source, line))
                    yield replace(finding, source=source, line=line)
