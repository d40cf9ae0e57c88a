"""Check one case: its two sessions against each other, and against what the file says."""

from __future__ import annotations

import re
from collections.abc import Iterator

from jaxscope.model import FindingKind
from measurements.false_findings import failed_rules, findings_of, is_accepted
from tests.magics.cells.cell_case import Allowance, Case, Expectation, Outcome
from tests.magics.cells.cell_compare import (
    Mismatch,
    Pairing,
    SameObjects,
    compare,
    compare_names,
    compare_text,
)
from tests.magics.cells.cell_shell import CellShell, Step, play

RUNS = (1, 3)
"""The places of the cell's two runs among the steps of a session."""
UNDONE = (Outcome.REFUSED, Outcome.RAISES)
RAISES = (Outcome.RAISES, Outcome.FAILS)

DEPEND_ON_OTHERS = (FindingKind.APPROXIMATE_SOURCE_MAPPING, FindingKind.HOST_BOUND)
"""The first is there where plain Python, which is played first, has traced a function; the second
is about the time of a call."""

FALLEN_BACK = "jaxscope could not"

Session = tuple[Step, ...]


def magic_line(case: Case, magic: str = "%%jaxjit") -> str:
    """`-n 1` unless the file says otherwise: four hundred cells are not to be timed."""
    if case.options == "--no-options":
        return magic
    runs = () if re.search(r"(^| )-n\b", case.options) else ("-n 1",)
    return " ".join([magic, *runs, *([case.options] if case.options else [])])


def check(shell: CellShell, case: Case, magic: str) -> list[str]:
    """Every way in which the case does not hold, as one line each; empty if it holds."""
    problems: list[str] = []
    skip = tuple(e.outcome in (*UNDONE, Outcome.UNCHANGED) for e in case.expect)
    plain = play(shell, case, skip=(skip[0], skip[1]))  # first, so that eager kernels are compiled
    if any(e.outcome in RAISES for e in case.expect):
        problems += check_plain_raises(case, play(shell, case))
    ours = play(shell, case, magic)
    if any(e.outcome is Outcome.EITHER for e in case.expect):
        refused = [bool(ours[run].error) or skip[i] for i, run in enumerate(RUNS)]
        if any(refused):
            plain = play(shell, case, skip=(refused[0], refused[1]))
    for i, run in enumerate(RUNS):
        problems += [f"run {i + 1}: {p}" for p in check_run(case, case.expect[i], ours, run)]
    if report := ours[RUNS[0]].report:
        found = findings_of(case.name, report)
        problems += [
            f"false finding: {f}"
            for f in found
            if f.kind not in DEPEND_ON_OTHERS and not is_accepted(f)
        ]
        problems += failed_rules(report)
    for step in (*plain[::2], *ours[::2]):
        if step.error:
            problems.append(f"{step.label} fails: {step.error}")
    if not problems:
        problems += check_differences(case, plain, ours)
    if case.compiles and not problems:
        counted = tuple(len(ours[run].compiles) for run in RUNS)
        if counted != case.compiles:
            names = [ours[run].compiles for run in RUNS]
            problems.append(f"compiles: {counted}, expected {case.compiles}: {names}")
    return problems


def check_plain_raises(case: Case, plain: Session) -> Iterator[str]:
    for i, run in enumerate(RUNS):
        expected = case.expect[i]
        if expected.outcome in RAISES:
            if not plain[run].error:
                yield f"plain Python does not raise on run {i + 1}, which the file says it does"
                return
            if expected.type and plain[run].error_type != expected.type:
                yield f"plain Python raises {plain[run].error_type}, not {expected.type}"
            if not re.search(expected.text, plain[run].error, re.IGNORECASE):
                yield f"plain Python's error does not match {expected.text!r}: {plain[run].error}"


def check_run(case: Case, expected: Expectation, ours: Session, run: int) -> Iterator[str]:
    step, before = ours[run], ours[run - 1]
    if FALLEN_BACK in step.shown and expected.outcome is not Outcome.EITHER:
        # A fall-back to plain Python has plain Python's meaning, so nothing else would notice it.
        yield f"fell back: {next(t for t in step.shown.splitlines() if FALLEN_BACK in t)}"
    if expected.outcome in (*UNDONE, Outcome.FAILS) and not step.error:
        yield f"no error; expected one that matches {expected.text!r}"
        return
    if step.error and expected.outcome in (Outcome.SAME, Outcome.UNCHANGED):
        yield f"unexpected error: {step.error}"
    if step.error and expected.outcome not in (Outcome.SAME, Outcome.UNCHANGED):
        if expected.type and step.error_type != expected.type:
            yield f"{step.error_type} instead of {expected.type}: {step.error}"
        if not re.search(expected.text, step.error, re.IGNORECASE):
            yield f"the error does not match {expected.text!r}: {step.error}"
        named = re.search(rf"\bline {case.line}\b", step.error, re.I) or case.line in step.lines
        if case.line is not None and not named:
            yield f"the error does not name line {case.line}: {step.error}"
    if expected.outcome is Outcome.FAILS:
        return
    if step.error or expected.outcome is Outcome.UNCHANGED:
        for name in step.changed:
            yield f"`{name}` was written by a run that writes nothing"
        for m in compare_names(before.names, step.names, SameObjects()):
            yield f"{m.path} changed in a run that writes nothing ({m.sort}): {m.text}"


def mismatches(plain: Session, ours: Session) -> Iterator[tuple[str, Mismatch]]:
    """Every disagreement of two sessions, with the label of the step where it shows."""
    pairing = Pairing()
    for one, other in zip(plain, ours, strict=True):
        found = [*compare_names(one.names, other.names, pairing)]
        if not other.error:
            found += compare(one.out, other.out, "Out", pairing)
            found += compare_text(one.stdout, other.stdout)
        yield from ((one.label, m) for m in found)


def check_differences(case: Case, plain: Session, ours: Session) -> Iterator[str]:
    declared = (*case.differs, *case.may_differ)
    seen: set[Allowance] = set()
    for label, mismatch in mismatches(plain, ours):
        covering = [a for a in declared if a.covers(mismatch.path, mismatch.differences)]
        seen.update(covering)
        if not covering:
            could = ", ".join(mismatch.differences) or "no documented difference"
            yield f"{label}: {mismatch.path}: {mismatch.sort}: {mismatch.text} [{could}]"
    for allowance in case.differs:
        if allowance not in seen:
            yield f"`differs: {allowance.path} {allowance.difference}` was not seen"
