"""Share of each program's instructions that is linked exactly, and the number of wrong links.

No link that is called exact may contradict the stack frames that XLA kept.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from measurements.process import printed
from tests.capture.program.linked import link
from tests.capture.program.programs import PROGRAMS

ROOT = Path(__file__).parents[1]
SHARDED = "shard_map over 4 devices"


def measure() -> dict[str, Any]:
    """Per program: real instructions, shares linked exactly and approximately, wrong links."""
    table = {name: row(link(*build())) for name, build in PROGRAMS.items()}
    total = sum(entry["instructions"] for entry in table.values())
    exact = sum(entry["exact"] * entry["instructions"] for entry in table.values())
    table["all of the above"] = {"instructions": total, "exact": exact / total}
    return {"programs": {**table, SHARDED: _sharded()}}


def row(linked: Any) -> dict[str, Any]:
    """One program's line of the table."""
    exact, inexact, total = linked.share
    wrong = len(linked.wrong())
    return {
        "instructions": total,
        "exact": exact / total,
        "inexact": inexact / total,
        "unlinked": (total - exact - inexact) / total,
        "wrong": wrong,
        "ok": not wrong,
    }


def _sharded() -> dict[str, Any]:
    """In a process of its own: emulated devices must be requested before JAX starts."""
    code = (
        "import json; from tests.capture.program.linked import link; "
        "from tests.capture.program.programs import sharded; "
        "from measurements.link_coverage import row; print(json.dumps(row(link(*sharded()))))"
    )
    environment = {
        "JAX_PLATFORMS": "cpu",
        "XLA_FLAGS": "--xla_force_host_platform_device_count=4",
    }
    return printed(code, environment)


if __name__ == "__main__":
    json.dump(measure(), sys.stdout, indent=1)
