"""Calls that fail: whose error it is, and how often the function ran."""

from __future__ import annotations

import jax.numpy as jnp
import pytest

from jaxscope.capture.compiles.listener import Listener
from jaxscope.capture.options.settings import Settings
from jaxscope.capture.run import run
from jaxscope.capture.source import cell_names
from jaxscope.capture.timing.peaks import PeakCache
from tests.magics.notebook import open_notebook


def test_an_error_of_the_users_function_is_raised_and_the_call_is_not_made_again() -> None:
    ran = []

    def f(x):
        ran.append(x)
        raise ZeroDivisionError("of the user's")

    namespace = {"f": f, "x": jnp.ones(3)}
    with Listener() as listener:
        context = run.RunContext(namespace, listener, PeakCache(), cell_names.cell_name)
        with pytest.raises(ZeroDivisionError):
            run.expression("f(x)", Settings(), context)
    assert ran == []  # what the trace appended is taken back


@pytest.mark.parametrize("form", ["", " --decorate"])
@pytest.mark.parametrize("option", ["-s", "-d"])
def test_an_option_that_names_no_parameter_says_so(option: str, form: str) -> None:
    step = "def step(m, g):\n    return m - g\nlast = step(w, 1.0)"
    with open_notebook() as notebook:
        notebook.must("import jax.numpy as jnp\nw = jnp.ones(3)")
        said = notebook.must(f"%%jaxjit -n 1{form} {option} w\n{step}").text
        said = " ".join(said.split())
        assert f"`{option} w` had no effect" in said
        assert "Those are: m, g." in said
        name = "m" if option == "-d" else "g"
        text = notebook.must(f"%%jaxjit -n 1{form} {option} {name}\n{step}").text
        assert "had no effect" not in text
