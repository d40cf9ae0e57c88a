"""`python -m bench [NAME…]`: measure side by side in one run, and write `docs/measured/`.

Each measurement runs in a process of its own, one after the other, and is written as it came, raw
samples and all, with the commit, the versions, the machine and its load.
"""

from __future__ import annotations

import datetime
import json
import os
import platform
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

from measurements.page import page

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "measured"
NAMES = (
    "startup",
    "cell",
    "compiles",
    "overhead",
    "links",
    "display",
    "viewer",
    "semantics",
    "false_findings",
    "null_comparison",
    "null_under_load",
    "planted_difference",
    "interval_coverage",
    "between_sessions",
    "other_timers",
    "profile",
)


ON_A_GPU = ("profile", "null_comparison", "planted_difference", "interval_coverage")
"""What a GPU changes: time by line, and whether two implementations are told apart."""


def environment() -> dict[str, Any]:
    """What the figures depend on."""
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
    """What JAX calls its GPU; empty where it has none. Asked in a process of its own."""
    ask = "import jax; d = jax.devices()[0]; print(d.device_kind if d.platform == 'gpu' else '')"
    done = subprocess.run([sys.executable, "-c", ask], cwd=ROOT, capture_output=True, text=True)
    return done.stdout.strip()


def main(names: list[str]) -> int:
    """Measure what was named, or everything; 1 when something could not be measured, 2 for
    a name that is none. `--gpu` measures what a GPU changes, and writes it to a folder beside."""
    if "--gpu" in names:
        device = gpu()
        if not device:
            print("JAX has no GPU here, so nothing was measured on one.")
            return 0
        names = [name for name in names if name != "--gpu"] or list(ON_A_GPU)
        return measured(names, FOLDER / "gpu", {"device": device})
    return measured(names, FOLDER, {})


def measured(names: list[str], folder: Path, more: dict[str, Any]) -> int:
    """Measure into a folder; `more` is said of the machine."""
    unknown = [name for name in names if name not in NAMES]
    if unknown:
        print(f"There is no measurement {unknown[0]!r}. There are: {', '.join(NAMES)}.")
        return 2
    folder.mkdir(parents=True, exist_ok=True)
    failed = 0
    for name in names or NAMES:
        around = {**environment(), **more}
        done = subprocess.run(
            [sys.executable, "-m", f"bench.{name}"], cwd=ROOT, capture_output=True, text=True
        )
        if done.returncode:
            failed = 1
            print(f"{name}: failed\n{done.stderr[-1500:]}")
            continue
        found = json.loads(done.stdout)
        text = json.dumps({"environment": around, "measured": found}, indent=1, sort_keys=True)
        (folder / f"{name}.json").write_text(text + "\n")
        print(f"{name}: {'ok' if within(found) else 'over its budget, or no budget'}")
    (folder / "README.md").write_text(page(folder, NAMES))
    return failed


def within(found: Any) -> bool:
    """Whether every `ok` below is true."""
    if isinstance(found, dict):
        return all(value if key == "ok" else within(value) for key, value in found.items())
    return True


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
