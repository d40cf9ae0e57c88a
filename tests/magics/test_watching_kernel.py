"""The compile log in a real Jupyter kernel, where cells are files named by their text."""

from __future__ import annotations

import re

import pytest

from tests.sessions.test_kernel import Kernel, kernel

pytestmark = pytest.mark.kernel
__all__ = ["kernel"]

STEP = """
@jax.jit
def step(v):
    return v * 2 + 1
"""


def test_a_watched_cell_shows_its_log_and_keeps_its_value(kernel: Kernel) -> None:
    kernel.must(STEP)
    reply = kernel.must("%%jaxwatch\ny = step(np.ones(3, np.float32))\ny.shape")
    (bundle,) = reply.displays
    assert reply.value == "(3,)"
    assert bundle["text/plain"].startswith("1 compile in ")
    assert f"In [{reply.prompt}]:2" in bundle["text/plain"]
    assert "<script" not in bundle["text/html"]
    assert "<svg" in bundle["text/html"]


def test_an_error_under_the_watch_is_the_cells(kernel: Kernel) -> None:
    reply = kernel.run("%%jaxwatch -q\nx = 1\nnothing_there")
    assert reply.error["ename"] == "NameError"
    text = re.sub(r"\x1b\[[\d;]*m", "", "\n".join(reply.error["traceback"]))
    assert "nothing_there" in text
    assert "usual.py" not in text
    assert "exec(" not in text


def test_a_cell_that_is_run_again_keeps_both_its_numbers(kernel: Kernel) -> None:
    kernel.must(STEP)
    kernel.must("size = 21")
    cell = "step(np.ones(size, np.float32));"
    first = kernel.must(cell).prompt
    kernel.must("size = 22")
    second = kernel.must(cell).prompt
    reply = kernel.must("%jaxlog --by line")
    text = reply.displays[0]["text/plain"]
    assert f"In [{first}]:1" in text
    assert f"In [{second}]:1" in text


def test_the_footer_is_under_the_cell_that_compiled(kernel: Kernel) -> None:
    kernel.must(STEP.replace("step", "watched"))
    kernel.must("%jaxwatch on --over 100")
    try:
        assert kernel.must("watched(np.ones(31, np.float32));").displays == []
        (bundle,) = kernel.must("for n in (32, 33): watched(np.ones(n, np.float32))").displays
        assert bundle["text/plain"].startswith("jaxscope: 2 compiles in ")
        assert ": The shape of v changed" in " ".join(bundle["text/plain"].split())
    finally:
        kernel.must("%jaxwatch off")
