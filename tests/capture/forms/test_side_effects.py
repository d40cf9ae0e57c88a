"""Side effects that happen only while a cell is traced."""

from __future__ import annotations

import inspect
import json
import os
import site
from typing import Any

import jax
import pytest

from jaxscope.capture.forms.side_effects import MOST_NOTES, noted, texts_noted

HANDLER = """\
def safe(x):
    try:
        return float(x)
    except Exception:
        return 0.0
"""


def test_a_tracers_text_is_noted_where_the_users_code_asks_for_it() -> None:
    line = inspect.currentframe().f_lineno + 2
    with texts_noted(__file__) as found:
        jax.jit(lambda x: (str(x), x)[1]).trace(1.0)
        jax.jit(lambda x: (json.dumps(x, default=str), x)[1]).trace(1.0)  # by a library
    assert [one.line for one in found] == [line]


def test_of_many_texts_only_the_first_are_noted() -> None:
    with texts_noted(__file__) as found:
        jax.jit(lambda x: ([str(x) for _ in range(MOST_NOTES + 1)], x)[1]).trace(1.0)
    assert len(found) == MOST_NOTES


@pytest.mark.parametrize(
    ("file", "notes"),
    [("helpers.py", 1), (os.path.join(site.getsitepackages()[0], "library", "core.py"), 0)],
    ids=["the user's", "a library's"],
)
def test_an_error_is_noted_where_the_users_code_handles_it(file: str, notes: int) -> None:
    namespace: dict[str, Any] = {}
    exec(compile(HANDLER, file, "exec"), namespace)
    with noted(__file__) as lines:
        jax.jit(lambda x: x + namespace["safe"](x)).trace(1.0)
    assert len(lines) == notes
