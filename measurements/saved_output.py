"""Bytes that reports leave in a saved notebook: of one small cell, and of twelve.

Beside them the size of an exported page, and the seconds to make both.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from measurements.budget import within_bytes
from measurements.compile_counts import CELLS
from measurements.compile_counts import SETUP as OTHERS
from measurements.shell import run, shell

CELL_BYTES, NOTEBOOK_BYTES = 60_000, 300_000
REPORTS = 12
SMALL = "y = (x - x.mean()) / (x.std() + 1e-6)\nz = jnp.tanh(y @ y).sum()"


def measure() -> dict[str, Any]:
    with shell() as (made, _):
        run(made, "import jax, jax.numpy as jnp\nx = jnp.ones((100, 100))")
        run(made, f"%%jaxjit -q\n{SMALL}")
        import jaxscope

        report = jaxscope.last()
        began = time.perf_counter()
        bundle = report._repr_mimebundle_()
        bundle_s = time.perf_counter() - began
        with tempfile.TemporaryDirectory() as folder:
            began = time.perf_counter()
            page = report.to_html(Path(folder) / "page.html").stat().st_size
            page_s = time.perf_counter() - began
        run(made, OTHERS)
        sizes: list[int] = []
        for number, cell in enumerate(CELLS[:REPORTS]):
            run(made, f"%%jaxjit -q -n 1\n# cell {number}\n{cell}")
            sizes.append(_size(jaxscope.last()._repr_mimebundle_()))
    return {
        "small cell": {**within_bytes(_size(bundle), CELL_BYTES), "bundle_s": bundle_s},
        f"notebook of {REPORTS} reports": {
            **within_bytes(sum(sizes), NOTEBOOK_BYTES),
            "samples": sizes,
        },
        "exported page": {"page_bytes": page, "page_s": page_s},
    }


def _size(bundle: Any) -> int:
    return len(json.dumps(bundle).encode())


if __name__ == "__main__":
    json.dump(measure(), sys.stdout, indent=1)
