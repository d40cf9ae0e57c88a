"""False findings, on cells that need no advice: `python -m measurements.false_findings`.

The cells of `tests/cells` were written to pin down the semantics of a cell, so most of them should
have no finding. A finding that is right is accepted by name: the cell, the kind and the reason.
"""

from __future__ import annotations

import importlib.util
import json
from collections import Counter
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jaxscope.results.report import Report

MOST = 3
"""False findings allowed over all cells."""


@dataclass(frozen=True, slots=True)
class CellFinding:
    """One finding about a cell."""

    cell: str
    kind: str
    line: int | None
    message: str


_HIDDEN = "the arrays are where no argument can come from, so the program is a constant"
_CALLBACK = "the cell has a callback"
_FETCHED = "the loss is fetched in every step"
ACCEPTED = {
    "uncertain_figure": "a count is partly estimated, or a time is noisy, and both are true",
    "host_bound": "of programs of microseconds, dispatch is most of a call",
    "containers/dataframe non_jax_constant": "its columns become constants",
    "containers/dataframe constant_folded": "all of its inputs are constants",
    "containers/series_same non_jax_constant": "its values become constants",
    "containers/deque_input constant_folded": _HIDDEN,
    "containers/object_reached_twice constant_folded": _HIDDEN,
    "containers/ring_input constant_folded": _HIDDEN,
    "containers/simple_namespace constant_folded": _HIDDEN,
    "functions/custom_jvp constant_folded": "its own derivative is a constant",
    "names/read_through_globals constant_folded": _HIDDEN,
    "decorator/prints trace_time_side_effect": "a jitted function prints",
    "output/print_traced trace_time_side_effect": "the cell prints a traced value",
    "functions/custom_vjp constant_folded": "its own derivative is a constant",
    "functions/abstract_and_generic_classes constant_folded": _HIDDEN,
    "functions/mappings_of_every_kind constant_folded": _HIDDEN,
    "functions/unused_argument_of_another_shape constant_folded": "one branch reads no argument",
    "functions/equinox_training host_transfer": _FETCHED,
    "functions/train_and_validate_by_epoch eager": "the batches are taken outside `jax.jit`",
    "functions/linen_init_train_evaluate host_transfer": _FETCHED,
    "functions/train_state_of_flax host_transfer": _FETCHED,
    "functions/prints_text trace_time_side_effect": "a jitted function prints",
    "output/text_only_printed trace_time_side_effect": "the cell prints a traced value",
    "numpy/generator trace_time_side_effect": "NumPy draws numbers that are used",
    "numpy/legacy_random trace_time_side_effect": "NumPy draws numbers that are used",
    "notebooks/python_random_and_time trace_time_side_effect": "NumPy draws numbers that are used",
    "notebooks/pandas_frame non_jax_constant": "its columns become constants",
    "notebooks/pandas_frame constant_folded": "all of its inputs are constants",
    "text/long_cell unrolled_loop": "a Python loop of 100 iterations makes 100 of 104 equations",
    "functions/*callback* callback": _CALLBACK,
    "functions/debug_print_in_function callback": _CALLBACK,
    "rerun/*callback* callback": _CALLBACK,
    "rerun/debug_print_text callback": _CALLBACK,
    "transforms/debug_print callback": _CALLBACK,
    "transforms/default_timing_with_effects callback": _CALLBACK,
    "transforms/pure_callback callback": _CALLBACK,
    "transforms/io_callback callback": _CALLBACK,
}
"""A kind, or a cell (a pattern of names) and a kind, and the reason why the finding is right."""


def measure() -> dict[str, Any]:
    """Counts, false findings and failed rules over all cells."""
    number, found, failures = findings_of_cells()
    false = [finding for finding in found if not is_accepted(finding)]
    return {
        "cells": number,
        "findings": len(found),
        "by_kind": dict(Counter(finding.kind for finding in found)),
        "false": len(false),
        "ok": not false and not failures,
        "failed_rules": failures,
        "false_findings": [
            f"{finding.cell} {finding.kind} line {finding.line}: {finding.message}"
            for finding in false
        ],
    }


def is_accepted(finding: CellFinding) -> bool:
    name = f"{finding.cell} {finding.kind}"
    return finding.kind in ACCEPTED or any(fnmatchcase(name, pattern) for pattern in ACCEPTED)


def findings_of_cells() -> tuple[int, list[CellFinding], list[str]]:
    """The number of cells with a report, their findings, and notes on rules that failed."""
    from tests.magics.cells.cell_case import read_cases
    from tests.magics.cells.cell_check import magic_line
    from tests.magics.cells.cell_shell import open_shell, play

    reports, found, failures = 0, list[CellFinding](), list[str]()
    with open_shell() as shell:
        for case in read_cases():
            if not all(importlib.util.find_spec(package) for package in case.needs):
                continue
            shell.run_line_magic("load_ext", "jaxscope")
            first = play(shell, case, magic_line(case), skip=(False, True))[1]
            shell.run_line_magic("unload_ext", "jaxscope")
            if first.report is None:
                continue  # refused, or an error of the cell's own
            reports += 1
            found += findings_of(case.name, first.report)
            failures += failed_rules(first.report)
    return reports, found, failures


def findings_of(cell: str, report: Report) -> list[CellFinding]:
    return [CellFinding(cell, f.kind, f.line, f.message) for f in report.findings]


def failed_rules(report: Report) -> list[str]:
    return [note for note in report.record.notes if "jaxscope: the rule" in note]


if __name__ == "__main__":
    print(json.dumps(measure(), indent=1, ensure_ascii=False))
