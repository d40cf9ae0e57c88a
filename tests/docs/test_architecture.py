"""docs/architecture.md: its paths exist, its matrix is complete, its walks are walked."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import pytest

from tests.paths import ROOT

PAGE = ROOT / "docs" / "architecture.md"
LAYERS = ("model", "analysis", "capture", "view")
NOT_NOUNS = {"model": {"wire", "schema"}, "capture": {"_jax"}}
"""The form of the data on the wire; the folder below the matrix."""
WALKS = {
    "From a cell to its report": ("x = jnp.arange(4.0)", "%%jaxjit\ny = jnp.sin(x) * 2"),
    "From a compile event to the log": (
        "f = jax.jit(lambda x: x + 1)",
        "f(jnp.ones(3))\nf(jnp.ones(4))\n%jaxlog",
    ),
    "From a profiler event to a line's time": (
        "x = jnp.arange(4096.0)\n@jax.jit\ndef f(x):\n    return jnp.sort(x).sum()",
        "%jaxprof f(x)",
    ),
}
"""By heading: a cell that prepares, and the cell whose way the walk follows."""
RUN = """
import json, sys
from IPython.core.interactiveshell import InteractiveShell
before, cell = json.loads(sys.argv[1])
shell = InteractiveShell.instance()
shell.history_manager.enabled = False
shell.run_line_magic("load_ext", "jaxscope")
shell.run_cell("import jax, jax.numpy as jnp\\n" + before).raise_error()
files = set()
def called(frame, event, argument):
    # Bodies of modules and classes run when a file is imported: they are not its work.
    if event == "call" and frame.f_code.co_flags & 1:
        files.add(frame.f_code.co_filename)
sys.setprofile(called)
result = shell.run_cell(cell)
sys.setprofile(None)
result.raise_error()
print(json.dumps(sorted(files)))
"""


def matrix(page: str) -> list[list[str]]:
    """The cells of the matrix, without its head."""
    rows = page.partition("| noun |")[2].partition("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]


def named(page: str) -> set[str]:
    """Every path that the page names, from the root of the project."""
    found: set[str] = set()
    for row in matrix(page):
        for layer, cell in zip(LAYERS, row[1:], strict=False):
            paths = re.findall(r"`([^`]+)`", cell)
            found |= {p if p.startswith("jaxscope/") else f"jaxscope/{layer}/{p}" for p in paths}
    _, _, below = page.partition("| noun |")
    outside = below.partition("\n\n")[2]
    return found | {p for p in re.findall(r"`([\w./-]+)`", outside) if "/" in p}


def walk(heading: str) -> list[str]:
    body = PAGE.read_text("utf-8").partition(f"## {heading}\n")[2].partition("\n## ")[0]
    return re.findall(r"^\d+\. `([^`]+)` – ", body, re.MULTILINE)


def missing(page: str) -> list[str]:
    return [path for path in sorted(named(page)) if not (ROOT / path).exists()]


def test_every_path_of_the_page_exists() -> None:
    assert len(named(PAGE.read_text("utf-8"))) > 80
    assert missing(PAGE.read_text("utf-8")) == []


def test_a_path_that_is_gone_is_noticed() -> None:
    page = PAGE.read_text("utf-8")
    gone = page.replace("`python/`", "`snake/`").replace("capture/run/run.py", "capture/run.py")
    assert missing(gone) == ["jaxscope/analysis/snake/", "jaxscope/capture/run.py"]


@pytest.mark.parametrize("layer", LAYERS)
def test_every_folder_and_file_of_a_layer_is_in_the_matrix(layer: str) -> None:
    page = PAGE.read_text("utf-8")
    prefix = f"jaxscope/{layer}/"
    known = {path.removeprefix(prefix).partition("/")[0] for path in named(page)}
    here = {
        entry.name
        for entry in (ROOT / prefix).iterdir()
        if (entry.is_dir() and (entry / "__init__.py").exists())
        or (entry.suffix == ".py" and entry.stem not in {"__init__", *NOT_NOUNS.get(layer, ())})
    }
    assert here - known - {"_jax"} == set()


def test_the_page_has_these_walks() -> None:
    headings = re.findall(r"^## (From .*)$", PAGE.read_text("utf-8"), re.MULTILINE)
    assert headings == list(WALKS)


@pytest.mark.jax
@pytest.mark.parametrize("heading", WALKS)
def test_every_file_of_a_walk_takes_part(heading: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", RUN, json.dumps(WALKS[heading])],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu"},
        timeout=800,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    ran = set(json.loads(done.stdout.splitlines()[-1]))
    assert len(walk(heading)) > 10
    assert [file for file in walk(heading) if str(ROOT / file) not in ran] == []
