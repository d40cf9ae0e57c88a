"""`%jaxtry`: gains shown that hold in fresh processes, and gains claimed for changes of nothing.

`python -m measurements --part 1/4 tried_fixes` measures a quarter of the cells, and keeps those of
the other parts that were measured at the same commit.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from jaxscope.model.variants import Change
from measurements.tried_cells import CAUSES, NULLS, SETUP, SIZES
from tests.magics.notebook import open_notebook

PROCESSES = 5
LIMIT_S = 5.0
"""Of an ordinary finding, beyond the compilations."""


def measure(part: int = 1, parts: int = 1, known: Sequence[dict[str, Any]] = ()) -> dict[str, Any]:
    """The cells of one part in a fresh process; the gains are then tried again in five others.

    `known` are rows of other parts.
    """
    cells = {"cause": len(CAUSES) * len(SIZES), "null": len(NULLS) * len(SIZES)}
    numbers = {kind: range(part - 1, count, parts) for kind, count in cells.items()}
    rows = [{"kind": kind, **row} for kind in cells for row in _fresh(kind, numbers[kind])]
    gains = [row["cell"] for row in rows if row["kind"] == "cause" and row["verdict"] == "better"]
    again = [{row["cell"]: row for row in _fresh("cause", gains)} for _ in range(PROCESSES)]
    for row in rows:
        if row["kind"] == "cause" and row["cell"] in gains:
            row["again"] = [one[row["cell"]] for one in again]
            row["held"] = all(_holds(row, one) for one in row["again"])
    measured = {(row["kind"], row["cell"]) for row in rows}
    rows += [row for row in known if (row["kind"], row["cell"]) not in measured]
    return summary(rows)


def summary(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Counts over the rows, and the rows."""
    causes = [row for row in rows if row["kind"] == "cause"]
    nulls = [row for row in rows if row["kind"] == "null"]
    gains = [row for row in causes if "again" in row]
    held, claimed = sum(row["held"] for row in gains), _count(nulls, "better")
    beyond = sorted(row["beyond_compile_s"] for row in rows)
    verdicts = sorted({row["verdict"] for row in rows})
    return {
        "causes": {
            "cells": len(causes),
            "verdicts": [f"{_count(causes, one)} {one}" for one in verdicts if _count(causes, one)],
            "gains_shown": len(gains),
            "same_sign_and_intervals_that_meet_in_all_5_processes": held,
            "better_again_in_all_5_processes": sum(
                all(one["verdict"] == "better" for one in row["again"]) for row in gains
            ),
            "interval_covers_the_median_of_the_5": sum(map(_covers, gains)),
            "ok": held >= 0.9 * len(gains) and not _count(causes, "error"),
        },
        "nulls": {
            "cells": len(nulls),
            "verdicts": [f"{_count(nulls, one)} {one}" for one in verdicts if _count(nulls, one)],
            "gains_claimed": claimed,
            "ok": not claimed and not _count(nulls, "error"),
        },
        "beyond_compile": {
            "median_s": beyond[len(beyond) // 2],
            "p90_s": beyond[int(0.9 * len(beyond))],
            "limit_s": LIMIT_S,
            "within_the_limit": sum(one <= LIMIT_S for one in beyond),
            "trials": len(beyond),
        },
        "rows": sorted(rows, key=lambda row: (row["kind"], row["cell"])),
    }


def _count(rows: Sequence[dict[str, Any]], verdict: str) -> int:
    return sum(row["verdict"] == verdict for row in rows)


def _holds(first: dict[str, Any], again: dict[str, Any]) -> bool:
    """The same sign, and intervals that meet; for another aim than time the same verdict."""
    if first["aim"] != "time" or again["ratio"] is None:
        return again["verdict"] == "better"
    (_, low, high), (found, least, most) = first["ratio"], again["ratio"]
    return found < 1 and low <= most and least <= high


def _covers(row: dict[str, Any]) -> bool:
    """Whether the interval shown covers the median of the other processes."""
    if row["aim"] != "time":
        return row["held"]
    found = [one["ratio"][0] for one in row["again"] if one["ratio"] is not None]
    _, low, high = row["ratio"]
    return bool(found) and low <= statistics.median(found) <= high


def one(kind: str, number: int) -> dict[str, Any]:
    """The trial of one cell, in this process."""
    from jaxscope.analysis.variants import change_of
    from jaxscope.bench.variants.trial import tried

    family, size = divmod(number, len(SIZES))
    with open_notebook() as notebook:
        notebook.must(SETUP.format(k=SIZES[size]))
        if kind == "cause":
            wanted, cell = CAUSES[family]
            magic = "%%jaxprof" if wanted == "eager" else "%%jaxjit -n 3"
            notebook.must(f"{magic} -o report\n{cell}")
            report = notebook.names["report"]
            kinds = [str(finding.kind) for finding in report.findings]
            if wanted not in kinds:
                return _row(number, wanted, "no finding")
            chosen = kinds.index(wanted)
            change = change_of(report.findings[chosen], report.record)
            aim = "time" if isinstance(change, str) else str(change.aim)
            began = time.perf_counter()
            found = report.try_fixes(chosen + 1)[0]
        else:
            wanted, aim, (before, after) = "", "time", NULLS[family]
            notebook.must(f"%%jaxjit -n 3 -o report\n{before}")
            report = notebook.names["report"]
            change = Change("null", text=f"%%jaxjit\n{after}")
            began = time.perf_counter()
            found = tried(report.record, report.origin, change, 30.0)
        seconds = time.perf_counter() - began
        compiling = sum(plan.compile_s or 0.0 for plan in (found.before, found.after) if plan)
        ratio = found.ratio
        made = None if ratio is None else (ratio.estimate, ratio.low, ratio.high)
        return _row(number, wanted, str(found.verdict)) | {
            "why": found.why,
            "aim": aim,
            "ratio": made,
            "beyond_compile_s": max(seconds - compiling, 0.0),
        }


def _row(number: int, wanted: str, verdict: str) -> dict[str, Any]:
    return {
        "cell": number,
        "finding": wanted,
        "verdict": verdict,
        "why": "",
        "aim": "time",
        "ratio": None,
        "beyond_compile_s": 0.0,
    }


def _fresh(kind: str, numbers: Sequence[int]) -> list[dict[str, Any]]:
    """These cells, one after the other in one new process."""
    if not numbers:
        return []
    command = [sys.executable, "-m", "measurements.tried_fixes", kind, *map(str, numbers)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def earlier(file: Path, commit: str) -> Iterator[dict[str, Any]]:
    """The rows that a file holds of this commit."""
    if file.exists() and (data := json.loads(file.read_text()))["environment"]["commit"] == commit:
        yield from data["measured"]["rows"]


def main(words: Sequence[str]) -> None:
    if words and words[0] in ("cause", "null"):
        for number in map(int, words[1:]):
            try:
                row = one(words[0], number)
            except Exception as error:  # a row, so that the rest of the part is kept
                row = _row(number, "", "error") | {"why": repr(error)}
            sys.stdout.write(json.dumps(row) + "\n")
            sys.stdout.flush()
        return
    if not words:
        json.dump(measure(), sys.stdout)
        return
    from measurements.__main__ import FOLDER, environment

    part, _, parts = words[1].partition("/")
    known = list(earlier(FOLDER / "tried_fixes.json", environment()["commit"]))
    json.dump(measure(int(part), int(parts), known), sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1:])
