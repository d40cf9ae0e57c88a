"""Differences between two processes that the guard names and stops, on ipyparallel and on Dask.

The differences are those of `tests/cluster/scenarios.py`. One is right where the kind and the line
of both processes are named, nothing runs that must not, and the next cell works.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

from measurements.budget import at_least, bounded
from tests.cluster.launchers import LAUNCHERS, attached
from tests.cluster.scenarios import GUARD, SCENARIOS, SETUP, Played, play, px
from tests.magics.notebook import open_notebook

_LIFE_S = 110
_WHOLE_S = 120.0


def measure() -> dict[str, Any]:
    """All scenarios on one cluster of each launcher, the start of the clusters included."""
    began = time.monotonic()
    found = {name: launched(name) for name in LAUNCHERS}
    return {**found, "all": bounded(time.monotonic() - began, _WHOLE_S)}


def launched(name: str) -> dict[str, Any]:
    """The scenarios on one launcher."""
    with open_notebook() as notebook, attached(name, notebook) as _:
        notebook.must("%jaxcluster init --devices-per-process 2 -q")
        px(notebook, SETUP.format(life_s=_LIFE_S))
        notebook.must(GUARD)
        played = {what: play(notebook, scenario) for what, scenario in SCENARIOS.items()}
        notebook.must("%jaxcluster status -q -o state")
        alive = sum(len(group.processes) for group in notebook.names["state"].groups)
    return {
        "right": at_least(sum(one.right for one in played.values()), len(SCENARIOS)),
        "wrong": [f"{what}: {one.text}" for what, one in played.items() if not one.right],
        "reports of equal programs": bounded(_false(played), 0),
        "next cell fails": bounded(sum(not one.goes_on for one in played.values()), 0),
        "engines alive": at_least(alive, 2),
    }


def _false(played: dict[str, Played]) -> int:
    return sum(not played[what].named for what, one in SCENARIOS.items() if one.kind is None)


if __name__ == "__main__":
    json.dump(measure(), sys.stdout, indent=1)
