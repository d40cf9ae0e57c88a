"""Bytes that a small cell leaves in a saved notebook, and in one exported page."""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from measurements.shell import run, shell

BUDGET = 300_000


def measure() -> dict[str, Any]:
    """Sizes of the display bundle and of `to_html`, and the seconds they take."""
    with shell() as (made, _):
        run(made, "import jax, jax.numpy as jnp\nx = jnp.ones((100, 100))")
        run(made, "%%jaxjit -q\ny = (x - x.mean()) / (x.std() + 1e-6)\nz = jnp.tanh(y @ y).sum()")
        import jaxscope

        report = jaxscope.last()
        began = time.perf_counter()
        bundle = report._repr_mimebundle_()
        bundle_s = time.perf_counter() - began
        with tempfile.TemporaryDirectory() as folder:
            began = time.perf_counter()
            page = report.to_html(Path(folder) / "page.html").stat().st_size
            page_s = time.perf_counter() - began
    size = len(json.dumps(bundle).encode())
    return {
        "bundle_bytes": size,
        "bundle_s": bundle_s,
        "budget_bytes": BUDGET,
        "ok": size <= BUDGET,
        "page_bytes": page,
        "page_s": page_s,
    }


if __name__ == "__main__":
    json.dump(measure(), sys.stdout, indent=1)
