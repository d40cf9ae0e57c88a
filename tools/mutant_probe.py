"""The tests that reach each mutant: a pytest plugin, and the function that probes call.

`tools/mutants.py` puts `at(3) or …` around the code of mutant 3 in a copy of the checkout. Where a
test reaches it, in whatever process, and where a test has ended, a line of JSON is written.
"""

from __future__ import annotations

import json
import os
from typing import Any

_seen: set[tuple[int, str]] = set()


def at(number: int) -> None:
    """Note that the running test reached this mutant. The result is false: see above."""
    test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0]
    if test and (number, test) not in _seen:
        _seen.add((number, test))
        _write({"reached": number, "test": test})


def pytest_runtest_logreport(report: Any) -> None:
    _write({"ran": report.nodeid, "seconds": report.duration, "failed": report.failed})


def _write(line: dict[str, Any]) -> None:
    path = os.environ.get("JAXSCOPE_MUTANTS")
    if path is not None:
        with open(path, "a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
