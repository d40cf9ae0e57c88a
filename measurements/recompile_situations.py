"""Causes of ordinary recompilations, in a notebook and in a script that watches after its warm-up.

Right: the first cause has the words that `tests/data/recompilation` gives. Every fix is applied as
the message says, and then nothing may compile. In a script the cause may also be unknown.
"""

from __future__ import annotations

import collections
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

MODES = ("notebook", "script")
LEAST = 90
"""Situations."""


def measure() -> dict[str, Any]:
    """The totals of both modes, each in a process of its own."""
    environment = {
        **os.environ,
        "JAX_PLATFORMS": "cpu",
        "XLA_FLAGS": "--xla_force_host_platform_device_count=2",
    }
    running = [
        subprocess.Popen(
            [sys.executable, "-m", "measurements.recompile_situations", mode],
            cwd=Path(__file__).parents[1],
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
        )
        for mode in MODES
    ]
    notebook, script = [json.loads(process.communicate()[0]) for process in running]
    return {
        "situations": {"count": notebook["played"], "ok": notebook["played"] >= LEAST},
        "by topic": notebook.pop("topics"),
        "notebook": judged(notebook),
        "script": judged(script),
    }


def judged(found: dict[str, Any]) -> dict[str, Any]:
    """The totals with their verdict."""
    return {**found, "ok": not (found["wrong"] or found.get("fixes that compile"))}


def played(mode: str) -> dict[str, Any]:
    """All situations that can run here, in this process."""
    from tests.capture.compiles.situations import (
        in_script,
        known_unknown,
        playground,
        situations,
        unheard,
    )

    counts: collections.Counter[str] = collections.Counter()
    topics: collections.Counter[str] = collections.Counter()
    problems: dict[str, str] = {}
    fixes = 0
    with unheard(), playground() as in_notebook:
        for one in situations():
            if not one.can_run:
                counts["skipped"] += 1
                continue
            topics[one.topic] += 1
            play, words = (
                (in_notebook, one.cause) if mode == "notebook" else (in_script, one.script)
            )
            compiled = play(one.steps)
            cause = compiled.first
            verdict = "right" if words.are_of(cause) else "wrong"
            if mode == "notebook" and all(one.fix not in each.fix for each in compiled.causes):
                verdict = "wrong"
            if mode == "script" and verdict == "wrong" and known_unknown(cause):
                verdict = "unknown"
            counts[verdict] += 1
            if verdict == "wrong":
                problems[one.name] = "nothing compiled" if cause is None else cause.text
            if mode == "notebook" and one.fixed is not None:
                fixes += 1
                if (cause := play(one.fixed).first) is not None:
                    counts["fixes that compile"] += 1
                    problems[f"{one.name}, with its fix"] = cause.text
    found: dict[str, Any] = {"played": topics.total(), "right": counts["right"]}
    found |= {"wrong": counts["wrong"], "skipped": counts["skipped"], "problems": problems}
    if mode == "script":
        return {**found, "unknown": counts["unknown"]}
    return {
        **found,
        "topics": topics,
        "fixes applied": fixes,
        "fixes that compile": counts["fixes that compile"],
    }


if __name__ == "__main__":
    json.dump(played(*sys.argv[1:]) if sys.argv[1:] else measure(), sys.stdout, indent=1)
