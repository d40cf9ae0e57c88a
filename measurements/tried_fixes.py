"""`%jaxtry`: gains shown that hold in fresh processes, and gains claimed for changes of nothing."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import Any

from jaxscope.model.variants import Change
from measurements.tried_cells import CAUSES, NULLS, SETUP, SIZES
from tests.magics.notebook import open_notebook

PROCESSES = 5


def measure(every: int = 1) -> dict[str, Any]:
    """Each cell in a process of its own; a gain is then tried in five fresh ones.

    `every` takes each so many-th cell only.
    """
    rows: list[dict[str, Any]] = []
    for number in range(0, len(CAUSES) * len(SIZES), every):
        first = _fresh("cause", number)
        again: list[dict[str, Any]] = []
        if first["verdict"] == "better":
            again = [_fresh("cause", number) for _ in range(PROCESSES)]
        held = bool(again) and all(_holds(first, one) for one in again)
        rows.append({"cell": number, "first": first, "again": again, "held": held})
    gains = [row for row in rows if row["again"]]
    empty = [_fresh("null", number) for number in range(0, len(NULLS) * len(SIZES), every)]
    claimed = [one for one in empty if one["verdict"] == "better"]
    held = sum(row["held"] for row in gains)
    return {
        "causes": rows,
        "nulls": empty,
        "gains": len(gains),
        "held": held,
        "claimed": len(claimed),
        "slowest_s": max(one["seconds"] for one in [row["first"] for row in rows] + empty),
        "ok": not claimed and held >= 0.9 * len(gains),
    }


def _holds(first: dict[str, Any], again: dict[str, Any]) -> bool:
    """The same verdict; for a gain of time also intervals that meet."""
    if again["verdict"] != "better":
        return False
    if first["ratio"] is None or first["ratio"][2] >= 1 or first["aim"] != "time":
        return True
    return first["ratio"][1] <= again["ratio"][2] and again["ratio"][1] <= first["ratio"][2]


def one(kind: str, number: int) -> dict[str, Any]:
    """The trial of one cell, in this process."""
    from jaxscope.analysis.variants import change_of
    from jaxscope.bench.variants.trial import tried

    aim = "time"
    family, size = divmod(number, len(SIZES))
    with open_notebook() as notebook:
        notebook.must(SETUP.format(k=SIZES[size]))
        if kind == "cause":
            wanted, cell = CAUSES[family]
            magic = "%%jaxprof" if wanted == "eager" else "%%jaxjit"
            notebook.must(f"{magic} -o report\n{cell}")
            report = notebook.names["report"]
            kinds = [str(finding.kind) for finding in report.findings]
            if wanted not in kinds:
                return {"verdict": "no finding", "why": "", "ratio": None, "seconds": 0.0}
            chosen = kinds.index(wanted)
            change = change_of(report.findings[chosen], report.record)
            aim = aim if isinstance(change, str) else str(change.aim)
            began = time.perf_counter()
            found = report.try_fixes(chosen + 1)[0]
        else:
            before, after = NULLS[family]
            notebook.must(f"%%jaxjit -o report\n{before}")
            report = notebook.names["report"]
            change = Change("null", text=f"%%jaxjit\n{after}")
            began = time.perf_counter()
            found = tried(report.record, report.origin, change, 30.0)
        ratio = found.ratio
        return {
            "verdict": str(found.verdict),
            "why": found.why,
            "aim": aim,
            "ratio": None if ratio is None else (ratio.estimate, ratio.low, ratio.high),
            "seconds": time.perf_counter() - began,
        }


def _fresh(kind: str, number: int) -> dict[str, Any]:
    command = [sys.executable, "-m", "measurements.tried_fixes", kind, str(number)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    return json.loads(done.stdout.splitlines()[-1])


if __name__ == "__main__":
    sys.stdout.write(json.dumps(one(sys.argv[1], int(sys.argv[2]))) + "\n")
