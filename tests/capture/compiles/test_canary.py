"""Where JAX reports compilations in another way, nothing passes for silence."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import jax
import numpy as np
import pytest
from jax._src import monitoring

import jaxscope
from jaxscope.capture.compiles import canary
from jaxscope.capture.compiles.listener import Listener

pytestmark = pytest.mark.jax
ONES = np.ones(3, np.float32)


@pytest.fixture(autouse=True)
def forgetful() -> Iterator[None]:
    canary.forget()
    jax.devices()
    yield
    canary.forget()


def fresh() -> Any:
    return jax.jit(lambda x: x + 1)


EVENTS = {
    "JAXPR_TRACE_EVENT": "trace",
    "JAXPR_TO_MLIR_MODULE_EVENT": "lowering",
    "BACKEND_COMPILE_EVENT": "XLA compilation",
}


@pytest.mark.parametrize("name", EVENTS)
def test_a_guard_fails_when_jax_renames_an_event(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from jax._src import dispatch

    monkeypatch.setattr(dispatch, name, getattr(dispatch, name) + "_v2")
    for options in ({"exactly": 0}, {"at_most": 5}, {"at_least": 0}):
        guard = jaxscope.expect_compiles(**options)
        with pytest.raises(jaxscope.CompilesError) as error, guard:
            fresh()(ONES)
        said = str(error.value)
        assert "they could not be counted" in said
        assert f"Compilations may be missing: jax {jax.__version__} reported no" in said
        assert EVENTS[name] in said


@pytest.mark.parametrize(
    "name", ["scalar_listener", "event_duration_secs_listener", "event_listener"]
)
def test_a_listener_that_jax_no_longer_has_is_named_and_the_code_runs(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(jax.monitoring, f"register_{name}")
    with jaxscope.options(runs=0):
        report = jaxscope.inspect(lambda x: x + 1, ONES)
    assert report.programs[0].title == "jit(<lambda>)"
    missing = f"This version of JAX has no `jax.monitoring.register_{name}`, so details may be"
    assert any(note.startswith(missing) for note in report.record.notes)
    # Without the others, the end of each stage is still reported.
    unknown = name == "event_duration_secs_listener"
    assert ("compilations unknown" in report.summary()) == unknown
    assert "0 compiles" not in report.summary()
    guard = jaxscope.expect_compiles(exactly=0)
    with pytest.raises(jaxscope.CompilesError), guard:
        fresh()(ONES)


def test_a_listener_that_cannot_be_taken_back_hears_nothing_and_is_used_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    listener = Listener()
    with monkeypatch.context() as patched:
        patched.delattr(jax.monitoring, "unregister_event_listener")
        patched.delattr(jax.monitoring, "unregister_scalar_listener")
        patched.delattr(jax.monitoring, "unregister_event_duration_listener")
        with listener:
            fresh()(ONES)
        assert listener.count == 1
        fresh()(ONES)
        assert listener.count == 1
        with listener:
            fresh()(ONES)
        assert listener.count == 2
    with listener:
        pass
    assert [one for one in monitoring.get_scalar_listeners() if one.__self__ is listener] == []


def test_nothing_is_compiled_where_a_compilation_was_observed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(canary, "_compiled", lambda _: pytest.fail("compiled for nothing"))
    with jaxscope.expect_compiles(exactly=1) as log:
        fresh()(ONES)
    assert log.notes == ()


def test_the_canary_compiles_once_and_no_log_shows_it(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled, calls = canary._compiled, []
    monkeypatch.setattr(canary, "_compiled", lambda observe: calls.append(1) or compiled(observe))
    with jaxscope.watch() as outer:
        for _ in range(3):
            with jaxscope.expect_compiles(exactly=0) as log:
                pass
            assert log.notes == ()
    assert outer.compiles == ()
    assert calls == [1]


@pytest.mark.parametrize(
    "setting",
    [("jax_disable_jit", True), ("jax_transfer_guard", "disallow"), ("jax_enable_x64", True)],
)
def test_the_users_settings_do_not_make_it_deaf(setting: tuple[str, Any]) -> None:
    before = getattr(jax.config, setting[0])
    jax.config.update(*setting)
    try:
        assert Listener().unobserved == ""
    finally:
        jax.config.update(setting[0], before)


def test_a_process_without_a_backend_compiles_nothing() -> None:
    code = """
import jax, jaxscope
from jax._src import xla_bridge
with jaxscope.expect_compiles(exactly=0) as log:
    pass
assert log.notes == ()
assert not xla_bridge.backends_are_initialized()
"""
    subprocess.run([sys.executable, "-c", code], check=True)
