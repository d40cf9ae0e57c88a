"""Side effects that happen only while a cell is traced."""

from __future__ import annotations

import inspect
import json

import jax

from jaxscope.capture.forms.side_effects import texts_noted


def test_a_tracers_text_is_noted_where_the_users_code_asks_for_it() -> None:
    line = inspect.currentframe().f_lineno + 2
    with texts_noted(__file__) as found:
        jax.jit(lambda x: (str(x), x)[1]).trace(1.0)
        jax.jit(lambda x: (json.dumps(x, default=str), x)[1]).trace(1.0)  # by a library
    assert [one.line for one in found] == [line]
