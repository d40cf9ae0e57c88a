"""Counts of the proof of `%jaxtry`: a gain that one of the processes lacks does not hold."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from measurements.tried_cells import CAUSES, NULLS, SIZES
from measurements.tried_fixes import _holds, earlier, summary


def row(cell: int, kind: str = "cause", **more: Any) -> dict[str, Any]:
    ratio = [0.5, 0.45, 0.55]
    found = {"kind": kind, "cell": cell, "verdict": "better", "aim": "time", "ratio": ratio}
    return {**found, "beyond_compile_s": 1.0, **more}


def test_there_are_sixty_causes_and_sixty_nulls() -> None:
    assert len(CAUSES) * len(SIZES) >= 60
    assert len(NULLS) * len(SIZES) >= 60


def test_a_gain_holds_with_the_same_sign_and_intervals_that_meet() -> None:
    first = row(0)
    assert _holds(first, row(0, ratio=[0.6, 0.54, 0.7], verdict="unclear"))
    assert not _holds(first, row(0, ratio=[0.6, 0.56, 0.7]))
    assert not _holds(first, row(0, ratio=[1.01, 0.5, 1.2]))
    assert not _holds(row(0, aim="memory"), row(0, verdict="same"))


def test_a_claimed_gain_of_a_null_and_a_gain_that_is_lost_are_over_the_budget() -> None:
    again = [row(0)] * 5
    good = summary([row(0, again=again, held=True), row(0, "null", verdict="same", ratio=None)])
    assert good["causes"]["ok"]
    assert good["nulls"]["ok"]
    bad = summary([row(0, again=again, held=False), row(0, "null")])
    assert not bad["causes"]["ok"]
    assert bad["nulls"]["gains_claimed"] == 1
    assert not bad["nulls"]["ok"]


def test_parts_of_another_commit_are_not_kept(tmp_path: Path) -> None:
    file = tmp_path / "tried_fixes.json"
    assert not list(earlier(file, "abc"))
    data = {"environment": {"commit": "abc"}, "measured": {"rows": [row(3)]}}
    file.write_text(json.dumps(data))
    assert [one["cell"] for one in earlier(file, "abc")] == [3]
    assert not list(earlier(file, "abd"))
