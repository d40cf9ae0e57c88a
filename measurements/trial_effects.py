"""Names that a trial changes: every cell of `tests/cells` with `%jaxtry` after it."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import json
import random
import sys
from collections.abc import Generator, Sequence
from typing import Any

import numpy as np

from jaxscope.api import latest
from jaxscope.bench.variants import rounds, trial
from jaxscope.model.comparison import Ratio, RatioVerdict
from jaxscope.model.variants import Change, TrialVerdict
from tests.magics.cells.cell_case import Case, read_cases
from tests.magics.cells.cell_check import magic_line
from tests.magics.cells.cell_compare import SameObjects, compare_names
from tests.magics.cells.cell_shell import CellShell, fresh_session, open_shell
from tests.magics.cells.cell_snapshot import Freezer, Node

LIMIT_S = 20.0
_RATIO = Ratio(1.0, 0.99, 1.01, RatioVerdict.SAME)


def measure(every: int = 1) -> dict[str, Any]:
    """Each cell is built again twice, whether or not it has a finding; nothing is timed.

    `every` takes each so many-th cell only.
    """
    cases = [case for case in read_cases() if all(map(importlib.util.find_spec, case.needs))]
    cases = cases[::every]
    with _untimed(), contextlib.redirect_stdout(io.StringIO()), open_shell() as shell:
        found = [_tried(shell, case) for case in cases]
    wrong = {one["cell"]: one["changed"] for one in found if one["changed"]}
    outcomes = [verdict for one in found for verdict in one["verdicts"]]
    return {
        "cells": len(cases),
        "with_a_report": sum(bool(one["verdicts"]) for one in found),
        "verdicts": {str(one): outcomes.count(one) for one in sorted(set(outcomes))},
        "differ": [one["cell"] for one in found if TrialVerdict.RESULTS_DIFFER in one["verdicts"]],
        "wrong": wrong,
        "budget": 0,
        "ok": not wrong,
    }


@contextlib.contextmanager
def _untimed() -> Generator[None]:
    before = rounds.ratio
    rounds.ratio = lambda *_: _RATIO
    try:
        yield
    finally:
        rounds.ratio = before


def _tried(shell: CellShell, case: Case) -> dict[str, Any]:
    """The cell, then trials of its findings and of no change; the names that changed."""
    shell.run_line_magic("load_ext", "jaxscope")
    try:
        with fresh_session(shell):
            freezer = Freezer(shell.user_ns)
            earlier = latest()
            for source in (case.setup, f"{magic_line(case)}\n{case.cell}"):
                with contextlib.redirect_stderr(io.StringIO()):
                    shell.run_cell(source, cell_id=case.name)
            hidden = {name for name in shell.user_ns_hidden if name != "__annotations__"}
            names, drawn = freezer.snapshot(hidden), _generators()
            # Some containers make their items anew at each access.
            unstable = _differences(names, freezer.snapshot(hidden))
            report = latest()
            if report is earlier or report is None or report.origin is None:
                return {"cell": case.name, "verdicts": (), "changed": []}
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
                verdicts = _verdicts(report)
            after = freezer.snapshot(hidden)
            changed = [one for one in _differences(names, after) if one not in unstable]
            changed += ["a random generator"] if _generators() != drawn else []
            changed += [f"printed {text!r}"] if (text := printed.getvalue()) else []
            return {"cell": case.name, "verdicts": verdicts, "changed": changed}
    finally:
        shell.run_line_magic("unload_ext", "jaxscope")


def _differences(one: dict[str, Node], other: dict[str, Node]) -> list[str]:
    return [f"{found.path}: {found.text}" for found in compare_names(one, other, SameObjects())]


def _verdicts(report: Any) -> Sequence[TrialVerdict]:
    found: list[TrialVerdict] = []
    with contextlib.suppress(trial.TrialError):
        found += [one.verdict for one in report.try_fixes(time_limit=LIMIT_S)]
    source = report.record.sources[:1]
    same = Change("nothing", text=source[0].text if source else "")
    found.append(trial.tried(report.record, report.origin, same, LIMIT_S).verdict)
    return found


def _generators() -> tuple[Any, ...]:
    return random.getstate(), repr(np.random.get_state(legacy=False))


if __name__ == "__main__":
    every = int(sys.argv[1]) if sys.argv[1:] else 1
    json.dump(measure(every), sys.stdout, indent=1)
