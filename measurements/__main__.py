"""`python -m measurements [NAME…]`: measure, and write `docs/measured/`.

Each measurement is a module with `measure() -> dict` and runs in a process of its own, one after
the other. Its figures are written with their raw samples, the commit, the versions, the machine and
its load.
"""

from __future__ import annotations

import datetime
import json
import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from measurements.budget import within
from measurements.page import page

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "measured"
BUDGETS = (
    "cached_call",
    "reused_call",
    "startup",
    "compile_event",
    "cell_overhead",
    "first_cell",
    "link_cost",
    "passes_price",
    "dump_price",
    "compile_counts",
    "viewer",
    "profile_answer",
    "benchmark_answer",
    "saved_output",
    "session_memory",
    "many_compiles",
    "cluster_overhead",
    "cluster_scenarios",
    "cluster_waits",
)
"""Costs: times as ratios to a yardstick of the same run, bytes and counts."""
ACCURACY = (
    "semantics",
    "interrupts",
    "false_findings",
    "recompile_situations",
    "finding_effects",
    "tried_fixes",
    "trial_effects",
    "fusion_flag",
    "link_coverage",
    "link_sweep",
    "whole_programs",
    "targets",
    "slow_compiles",
    "fusion_remarks",
    "lost_time",
    "profile_accuracy",
    "peak_verdicts",
    "null_comparison",
    "null_under_load",
    "planted_difference",
    "planted_under_load",
    "interval_coverage",
    "between_processes",
    "timer_agreement",
)
"""Correctness of results: of cells, findings, links, times by line and verdicts."""
NAMES = (*BUDGETS, *ACCURACY)
ONLY_A_GPU = ("target_ranks",)
BY_HAND = ("documentation_notebooks",)
"""On the page, and not run by `make bench`: their material is not part of the project."""
ON_A_GPU = ("null_comparison", "planted_difference", *ONLY_A_GPU)
"""Those that a GPU changes, or that need one: verdicts and predictions."""


def environment() -> dict[str, Any]:
    """Commit, versions and machine, on which the figures depend."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True
    ).stdout.strip()
    return {
        "commit": commit,
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "python": platform.python_version(),
        "jax": version("jax"),
        "jaxlib": version("jaxlib"),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "load_1_min": os.getloadavg()[0],
    }


def gpu() -> str:
    """JAX's name of its GPU, from a process of its own; empty where it has none."""
    ask = "import jax; d = jax.devices()[0]; print(d.device_kind if d.platform == 'gpu' else '')"
    done = subprocess.run([sys.executable, "-c", ask], cwd=ROOT, capture_output=True, text=True)
    return done.stdout.strip()


def main(names: list[str]) -> int:
    """Run the named measurements, or all: 1 when one failed, 2 for an unknown name.

    `--gpu` runs those that a GPU changes, and writes to a folder of their own. `--part 1/4` is
    passed to a measurement that can run in parts.
    """
    given: list[str] = []
    if "--part" in names:
        at = names.index("--part")
        given, names = names[at : at + 2], names[:at] + names[at + 2 :]
    if "--gpu" in names:
        device = gpu()
        if not device:
            print("JAX has no GPU here, so nothing was measured on one.")
            return 0
        names = [name for name in names if name != "--gpu"] or list(ON_A_GPU)
        return measured(names, FOLDER / "gpu", {"device": device})
    return measured(names, FOLDER, {}, given)


def measured(
    names: list[str], folder: Path, more: dict[str, Any], given: Sequence[str] = ()
) -> int:
    """Measure into a folder; `more` describes the machine, `given` are options of the modules."""
    unknown = [name for name in names if name not in (*NAMES, *ONLY_A_GPU)]
    if unknown:
        print(f"There is no measurement {unknown[0]!r}. There are: {', '.join(NAMES)}.")
        return 2
    folder.mkdir(parents=True, exist_ok=True)
    failed = 0
    for name in names or NAMES:
        around = {**environment(), **more}
        done = subprocess.run(
            [sys.executable, "-m", f"measurements.{name}", *given],
            cwd=ROOT,
            capture_output=True,
            text=True,
        )
        if done.returncode:
            failed = 1
            print(f"{name}: failed\n{done.stderr[-1500:]}")
            continue
        found = json.loads(done.stdout)
        text = json.dumps({"environment": around, "measured": found}, indent=1, sort_keys=True)
        (folder / f"{name}.json").write_text(text + "\n")
        print(f"{name}: {'ok' if within(found) else 'over its budget, or no budget'}")
    (folder / "README.md").write_text(page(folder, (*NAMES, *ONLY_A_GPU, *BY_HAND)))
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
