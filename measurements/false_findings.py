"""How often findings speak about cells that are well: `python -m measurements.false_findings`.

The cells of `tests/cells` were written to pin down what a cell means, so most of them have nothing
to advise about. What is said there is listed, and what is no mistake is accepted by name: the cell,
the kind, and why it is right.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import json
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

TESTS = Path(__file__).parents[1] / "tests" / "magics"
NAME = "report_of_the_cell"
MOST = 3
"""False findings over all cells (the budget of the main job)."""


@dataclass(frozen=True, slots=True)
class Said:
    """One finding about a cell."""

    cell: str
    kind: str
    line: int | None
    message: str


_HIDDEN = "the arrays hide where no argument can come from, so the program is a constant"
_CALLBACK = "the cell has a callback"
ACCEPTED = {
    "measurement": "says that a count holds a guess or how far a time is off, which is so",
    "containers/dataframe foreign_constant": "its columns become constants",
    "containers/dataframe folded": "all of its inputs are constants",
    "containers/series_same foreign_constant": "its values become constants",
    "containers/deque_input folded": _HIDDEN,
    "containers/object_reached_twice folded": _HIDDEN,
    "containers/ring_input folded": _HIDDEN,
    "containers/simple_namespace folded": _HIDDEN,
    "names/read_through_globals folded": _HIDDEN,
    "decorator/prints trace_only_effect": "a jitted function prints",
    "output/print_traced trace_only_effect": "the cell prints a traced value",
    "numpy/legacy_random trace_only_effect": "NumPy draws numbers that are used",
    "notebooks/python_random_and_time trace_only_effect": "NumPy draws numbers that are used",
    "notebooks/pandas_frame foreign_constant": "its columns become constants",
    "notebooks/pandas_frame folded": "all of its inputs are constants",
    "text/long_cell unrolled_loop": "a Python loop of 100 passes makes 100 of 104 equations",
    "rerun/*callback* callback": _CALLBACK,
    "rerun/debug_print_text callback": _CALLBACK,
    "transforms/debug_print callback": _CALLBACK,
    "transforms/pure_callback callback": _CALLBACK,
    "transforms/io_callback callback": _CALLBACK,
}
"""A kind, or a cell (a pattern of names) and a kind, and why what was said is no mistake."""


def measure(names: Iterable[str] | None = None) -> dict[str, Any]:
    """Counts, and the findings that nobody accepted; over all cells unless names are given."""
    number, said = listen(names)
    false = [finding for finding in said if not is_accepted(finding)]
    return {
        "cells": number,
        "findings": len(said),
        "by_kind": dict(Counter(finding.kind for finding in said)),
        "false": len(false),
        "ok": not false,
        "said_falsely": [
            f"{finding.cell} {finding.kind} line {finding.line}: {finding.message}"
            for finding in false
        ],
    }


def is_accepted(finding: Said) -> bool:
    said = f"{finding.cell} {finding.kind}"
    return finding.kind in ACCEPTED or any(fnmatchcase(said, pattern) for pattern in ACCEPTED)


def listen(names: Iterable[str] | None = None) -> tuple[int, list[Said]]:
    """Cells that gave a report, and all that was said about them."""
    sys.path.insert(0, str(TESTS))
    from cell_case import read_cases  # type: ignore[import-not-found]
    from cell_check import magic_line  # type: ignore[import-not-found]
    from cell_shell import fresh_session, open_shell  # type: ignore[import-not-found]

    wanted = None if names is None else set(names)
    reports, said = 0, list[Said]()
    with open_shell() as shell:
        for case in read_cases():
            if wanted is not None and case.name not in wanted:
                continue
            if not all(importlib.util.find_spec(package) for package in case.needs):
                continue
            magic = magic_line(case)
            head = magic if case.options == "--no-options" else f"{magic} -o {NAME}"
            quiet = io.StringIO()
            with (
                fresh_session(shell),
                contextlib.redirect_stdout(quiet),
                contextlib.redirect_stderr(quiet),
            ):
                shell.run_line_magic("load_ext", "jaxscope")
                shell.run_cell(case.setup)
                shell.run_cell(f"{head}\n{case.cell}", cell_id=case.name)
                report = shell.user_ns.get(NAME)
                shell.run_line_magic("unload_ext", "jaxscope")
                if report is None:
                    continue  # refused, or an error of the cell's own
                reports += 1
                said += [Said(case.name, f.kind, f.line, f.message) for f in report.findings]
    return reports, said


if __name__ == "__main__":
    print(json.dumps(measure(), indent=1, ensure_ascii=False))
