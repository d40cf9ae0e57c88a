"""Calls that fail: whose error it is, and how often the function ran."""

from __future__ import annotations

import jax.numpy as jnp
import pytest

from jaxscope.capture.compiles.listener import Listener
from jaxscope.capture.options.settings import Settings
from jaxscope.capture.run import run
from jaxscope.capture.source import cell_names
from jaxscope.capture.timing.peaks import PeakCache


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
