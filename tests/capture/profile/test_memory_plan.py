"""The reason for which a program has no memory by line."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import pytest

import jaxscope
from jaxscope.capture.profile import memory_plan
from jaxscope.model import Unavailable


@pytest.mark.skipif(jax.__version_info__ < (0, 10, 2), reason="older jaxlibs write no heap trace")
@pytest.mark.parametrize(
    ("name", "answer", "reason"),
    [
        ("module_messages", {}, "XLA gives no plan of this program's memory"),
        ("_fits", False, "XLA's plan does not match the instructions or sizes of this program"),
    ],
)
def test_a_missing_plan_has_no_reason_that_was_not_checked(
    name: str, answer: Any, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory_plan, name, lambda *_: answer)
    report = jaxscope.profile(lambda x: jnp.sort(x @ x, axis=1) @ x, jnp.ones((64, 64)))
    assert report.programs[0].buffers == Unavailable(reason)
