"""Trials in a notebook, and a check that no name of it changes."""

from __future__ import annotations

from typing import Any

from jaxscope.results.trials import Trials
from tests.magics.notebook import Notebook

INVERSE = "%%jaxjit -n 1\ny = jnp.linalg.inv(m) @ b"


def tried(notebook: Notebook, line: str = "%jaxtry") -> Trials:
    before = dict(notebook.names)
    notebook.must(f"{line.replace('%jaxtry', '%jaxtry -o trials')}")
    found: Trials = notebook.names.pop("trials")
    ours = {name: value for name, value in before.items() if not name.startswith("_")}
    assert {name for name in notebook.names if not name.startswith("_")} == set(ours)
    assert all(notebook.names[name] is value for name, value in ours.items() if name != "In")
    return found


def only(found: Trials) -> Any:
    assert len(found) == 1
    return found[0]
