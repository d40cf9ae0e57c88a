"""A cell that runs again under another setting of JAX: compiled anew, as JAX itself would."""

from __future__ import annotations

import subprocess
import sys
import traceback
from collections.abc import Iterator

import jax
import pytest

import jaxscope
from tests.magics.notebook import Notebook, open_notebook

SETUP = """
import jax, jax.numpy as jnp
x, w = jnp.ones((4, 3)), jnp.ones(3)
"""
SETTINGS = (
    ("jax_default_matmul_precision", "highest"),
    ("jax_numpy_rank_promotion", "warn"),
    ("jax_numpy_dtype_promotion", "strict"),
)


@pytest.fixture
def notebook() -> Iterator[Notebook]:
    before = {name: getattr(jax.config, name) for name, _ in SETTINGS}
    with open_notebook() as opened:
        opened.must(SETUP)
        yield opened
    for name, value in before.items():
        jax.config.update(name, value)


@pytest.mark.parametrize(("name", "value"), SETTINGS)
@pytest.mark.parametrize(
    "cell",
    ["%%jaxjit -q -n 2\nx * x", "%%jaxcompose -q -n 2 vmap -i x=0 | grad -w w\n(x * w).sum()"],
)
def test_a_changed_setting_compiles_once_and_says_why(
    notebook: Notebook, cell: str, name: str, value: str
) -> None:
    notebook.must(cell)
    jax.config.update(name, value)
    assert name in notebook.must(cell).text
    assert len(jaxscope.last().programs[0].compiles) == 1
    assert "0 compiles" in notebook.must(cell).text


def test_the_setting_of_before_uses_the_program_of_before(notebook: Notebook) -> None:
    cell = "%%jaxjit -q -n 2\nx * x"
    notebook.must(cell)
    notebook.must(
        f"with jax.default_matmul_precision('highest'):\n    get_ipython().run_cell({cell!r})"
    )
    assert len(jaxscope.last().programs[0].compiles) == 1
    assert "0 compiles" in notebook.must(cell).text


@pytest.mark.parametrize(
    ("cell", "line"),
    [
        ("%%jaxjit\ny = x - 2\nz = jnp.log(y)\nz + 1", 3),
        ("%%jaxjit\ndef f(v):\n    return jnp.log(v - 2)\nz = f(x)", 3),
        ("%%jaxjit\n@jax.jit\ndef f(v):\n    return jnp.log(v - 2)\nz = f(x)", 4),
        ("%%jaxgrad -w w\njnp.sqrt(w - 2).sum()", None),
    ],
)
def test_a_nan_is_jaxs_error_at_its_line_without_one_of_jaxscope(
    notebook: Notebook, cell: str, line: int | None
) -> None:
    with jax.debug_nans(True):
        error = notebook.run(cell).error
    assert type(error) is FloatingPointError
    assert "nan" in str(error)
    lines = [
        at
        for frame, at in traceback.walk_tb(error.__traceback__)
        if "ipython-input" in frame.f_code.co_filename or "ipykernel" in frame.f_code.co_filename
    ]
    assert line is None or line in lines
    while error is not None:
        assert "jaxscope" not in str(error)
        error = None if error.__suppress_context__ else error.__context__
    assert "z" not in notebook.names
    assert notebook.must("%%jaxjit -q\nx + 1").text


_ALL_MODULES = """
import importlib, pkgutil
import jax
import jaxscope
from jax._src import config

before = config.trace_context_names() if hasattr(config, "trace_context_names") else ()
number = len(config.trace_context())
for module in pkgutil.walk_packages(jaxscope.__path__, "jaxscope."):
    try:
        importlib.import_module(module.name)
    except ImportError:  # of an extra that is not installed
        pass
jaxscope.inspect(lambda x: x + 1, 1.0)
assert len(config.trace_context()) == number, set(config.trace_context_names()) - set(before)
"""


def test_no_module_adds_a_setting_to_the_key_of_every_trace() -> None:
    """It would make JAX trace and compile again what the user compiled before."""
    subprocess.run([sys.executable, "-c", _ALL_MODULES], check=True, timeout=400)
