"""Programs of cells that were replaced go with them, not with Python's next full collection.

Garbage in a cycle stays until Python collects its oldest generation, after hundreds of cells, and
an executable of 1.5 MB weighs as little as any object in its count.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator

import jax
import pytest

from jaxscope.magics.session import session
from tests.magics.notebook import Notebook, open_notebook

SETUP = "import jax, jaxscope\nimport jax.numpy as jnp\nx = jnp.arange(64.0)"
CELLS = {
    "block": "%%jaxjit -q -n 1\ny = jnp.sin(x * {i}.5)",
    "function": "%%jaxjit -q -n 1\ndef f(x):\n    return jnp.sin(x * {i}.5)\ny = f(x)",
    "jitted": "%%jaxjit -q -n 1\n@jax.jit\ndef f(x):\n    return jnp.sin(x * {i}.5)\ny = f(x)",
    "gradient": "%%jaxgrad -q -n 1 -w x\njnp.sin(x * {i}.5).sum()",
    "call": "%jaxjit -q -n 1 (lambda x: jnp.sin(x * {i}.5))(x)",
    "inspect": "r = jaxscope.inspect(lambda x: jnp.sin(x * {i}.5), x)",
    "watch": "%%jaxwatch -q\ny = jax.jit(lambda x: jnp.sin(x * {i}.5))(x)",
    "profiled cell": "%%jaxprof -q\ny = jax.jit(lambda x: jnp.sin(x * {i}.5))(x)",
    "benchmark": "%%jaxbench -q --time-limit 0.1 --vs jax\nxp.sin(x * {i}.5) + x",
    "trial": "%%jaxjit -q -n 1\ny = x\nfor _ in range(40): y = jnp.sin(y) * {i}.5\n---%jaxtry -q",
}
RUNS = 20
"""More than the reports that a session keeps."""


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> Iterator[Notebook]:
    monkeypatch.setattr(session, "CELLS_KEPT", 2)
    with open_notebook() as opened:
        opened.must(SETUP)
        yield opened


def run(notebook: Notebook, form: str, number: int) -> None:
    for cell in CELLS[form].format(i=number).split("---"):
        notebook.must(cell)


def executables() -> int:
    return len(jax.devices()[0].client.live_executables())


@pytest.mark.parametrize("form", CELLS)
def test_no_program_waits_for_a_full_collection(form: str, notebook: Notebook) -> None:
    runs = RUNS if form in ("block", "function", "gradient", "call") else 5
    run(notebook, form, 0)
    gc.collect()
    gc.disable()
    try:
        for i in range(1, runs):
            run(notebook, form, i)
        before = executables()
    finally:
        gc.enable()
    gc.collect()
    assert before - executables() <= 1  # the last one's traceback or frame
