"""`python -m jaxscope.bench.worker FOLDER`: measure one process of a comparison.

`bench.processes` leaves the plan in the folder; the record is written there.
"""

from __future__ import annotations

import contextlib
import json
import pickle
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from jaxscope import files
from jaxscope.bench.measure import compare
from jaxscope.bench.plan import Plan, Progress
from jaxscope.capture.program import describe
from jaxscope.model import to_json


def set_up(settings: Mapping[str, Any]) -> None:
    """Configure JAX as in the parent process, also where no environment variable exists."""
    import jax

    own = describe.settings()
    for name, value in settings.items():
        if name in own and own[name] != value:
            # A setting that can no longer be changed keeps JAX's default.
            with contextlib.suppress(Exception):
                jax.config.update(name, value)


def run(folder: Path) -> None:
    """Measure the plan in `folder`, print its progress, and write the record there."""
    set_up(json.loads((folder / "settings").read_text()))
    plan: Plan = pickle.loads((folder / "plan").read_bytes())
    out = sys.stdout

    def progress(step: Progress) -> None:
        out.write(f"{step.done:.4f} {step.text}\n")
        out.flush()

    record = compare(replace(plan, progress=progress))
    files.write(folder / "record", json.dumps(to_json(record)))


if __name__ == "__main__":
    run(Path(sys.argv[1]))
