"""Calls that go through Python though nothing compiles."""

from __future__ import annotations

import inspect
import sys
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxscope
from jaxscope.capture._jax import SlowReason
from jaxscope.capture.compile_log import slow_calls
from jaxscope.model import SlowCall, from_json, to_json
from jaxscope.model.compile_log import Log
from tests.private_names import break_private

seen = pytest.mark.skipif(sys.version_info < (3, 12), reason="sys.monitoring is new in 3.12")


def with_callback():
    def logged(x):
        jax.debug.callback(lambda v: None, x)
        return x + 1

    return jax.jit(logged)


@seen
def test_a_callback_makes_every_call_slow_and_is_named():
    f, x = with_callback(), jnp.ones(3)
    with jaxscope.watch(slow_path=True) as log:
        for _ in range(5):
            f(x)
    jax.effects_barrier()
    (call,) = log.slow_calls
    assert (call.fun_name, call.calls) == ("logged", 4)
    assert call.site.file == __file__
    assert call.total_s > 0
    assert call.why.startswith(
        "Every call of `logged` goes through Python, because it has a callback"
    )
    assert "once for many steps" in call.fix
    assert any(note.startswith("Slow calls at test_slow_calls.py:") for note in log.notes)
    assert from_json(Log, to_json(log.log)).slow_calls == log.slow_calls


@seen
def test_ordered_effects_are_told_apart():
    @jax.jit
    def f(x):
        jax.debug.print("{}", x, ordered=True)
        return x

    x = jnp.float32(1)
    with jaxscope.watch(slow_path=True) as log:
        f(x)
        f(x)
    jax.effects_barrier()
    assert "because it has ordered effects" in log.slow_calls[0].why


@seen
def test_checking_for_nans_makes_calls_slow():
    f, x = jax.jit(lambda x: x * 2), jnp.ones(3)
    f(x)
    with jaxscope.watch(slow_path=True) as log, jax.debug_nans(True):
        for _ in range(3):
            f(x)
    (call,) = [call for call in log.slow_calls if call.fun_name == "<lambda>"]
    assert (call.calls, "`jax_debug_nans`" in call.why) == (3, True)


@seen
def test_a_quick_call_and_one_slow_first_call_are_no_slow_calls():
    f, x = jax.jit(lambda x: x * 3), jnp.ones(3)
    with jaxscope.watch(slow_path=True) as log:
        for _ in range(5):
            f(x)
        f(np.ones(3, np.float32))
        f(np.ones(3, np.float32))
    assert log.slow_calls == ()
    assert len(log.compiles) == 1


@seen
def test_an_error_in_a_call_leaves_the_count_right():
    def f(x):
        raise ValueError("mine")

    g, x = with_callback(), jnp.ones(3)
    g(x)
    with jaxscope.watch(slow_path=True) as log:
        for _ in range(3):
            with pytest.raises(ValueError, match="mine"):
                jax.jit(f)(x)
            g(x)
    jax.effects_barrier()
    assert [(call.fun_name, call.calls) for call in log.slow_calls] == [("logged", 3)]


@seen
def test_nothing_of_it_is_left_behind():
    before = [sys.monitoring.get_tool(tool) for tool in range(6)]
    with jaxscope.watch(slow_path=True):
        assert "jaxscope" in [sys.monitoring.get_tool(tool) for tool in range(6)]
        with jaxscope.watch(slow_path=True):
            pass
    assert [sys.monitoring.get_tool(tool) for tool in range(6)] == before


@seen
def test_without_a_free_tool_the_log_says_so():
    taken = [tool for tool in slow_calls._TOOLS if sys.monitoring.get_tool(tool) is None]
    for tool in taken:
        sys.monitoring.use_tool_id(tool, "test")
    try:
        with jaxscope.watch(slow_path=True) as log:
            pass
    finally:
        for tool in taken:
            sys.monitoring.free_tool_id(tool)
    assert slow_calls.NO_TOOL in log.notes


@seen
@pytest.mark.parametrize("name", ["slow_codes", "slow_call"])
def test_a_private_name_that_is_gone_loses_only_the_slow_calls(name, monkeypatch):
    def broken(*_):
        raise AttributeError("gone")

    break_private(monkeypatch, name, broken)
    f, x = with_callback(), jnp.ones(3)
    with jaxscope.watch(slow_path=True) as log:
        for _ in range(3):
            assert f(x).shape == (3,)
    jax.effects_barrier()
    assert log.slow_calls == ()
    assert any("low calls could not be" in note for note in log.notes)
    assert len(log.compiles) >= 1


class FakeMonitoring:
    """`sys.monitoring` of Python 3.12, on any Python: no call reaches it."""

    events = SimpleNamespace(PY_START=1, PY_RETURN=4)

    def __init__(self):
        self.tools = {}

    def get_tool(self, tool):
        return self.tools.get(tool)

    def use_tool_id(self, tool, name):
        assert tool not in self.tools
        self.tools[tool] = name

    def free_tool_id(self, tool):
        del self.tools[tool]

    def register_callback(self, *_):
        pass

    def set_local_events(self, *_):
        pass


@pytest.fixture
def monitoring(monkeypatch):
    made = FakeMonitoring()
    python = SimpleNamespace(version_info=(3, 12), monitoring=made)
    monkeypatch.setattr(slow_calls, "sys", python)
    return made


def test_the_tool_is_one_that_python_reserves_for_nobody(monitoring):
    path = slow_calls.SlowPath(lambda: 0)
    path.begin()
    assert path.note == ""
    (tool,) = monitoring.tools
    assert tool in (3, 4)  # 0 debugger, 1 coverage, 2 profiler, 5 optimizer
    path.end()
    assert monitoring.tools == {}


def test_a_jax_without_the_slow_path_is_a_note(monitoring, monkeypatch):
    break_private(monkeypatch, "slow_codes", lambda: ())
    path = slow_calls.SlowPath(lambda: 0)
    path.begin()
    assert (
        path.note
        == "Slow calls could not be detected: this version of JAX has a different slow path."
    )
    assert monitoring.tools == {}


@pytest.mark.parametrize("user", [True, False])
def test_a_slow_call_has_the_users_line_if_there_is_one(user, monkeypatch):
    reason = SlowReason(checked=True)
    frame = inspect.currentframe()
    break_private(monkeypatch, "slow_call", lambda frame, returned: (with_callback, reason))
    monkeypatch.setattr(slow_calls, "_monitored", lambda code: frame)
    if not user:
        monkeypatch.setattr(slow_calls, "user_frames", lambda frame: ())
    path = slow_calls.SlowPath(lambda: 0)
    for _ in range(2):
        path._on_start(frame.f_code, 0)
        path._on_return(frame.f_code, 0, None)
    assert path.note == ""
    (call,) = path.calls()
    assert (call.fun_name, call.calls) == ("with_callback", 2)
    assert (call.site.file if call.site else None) == (__file__ if user else None)
    assert "`jax_debug_nans`" in call.why


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="there it works")
def test_python_3_11_is_told_that_it_cannot():
    with jaxscope.watch(slow_path=True) as log:
        jax.jit(lambda x: x * 4)(np.ones(3, np.float32))
    assert slow_calls.NEEDS_312 in log.notes
    assert len(log.compiles) == 1


def test_nobody_looks_unless_asked():
    with jaxscope.watch() as log:
        pass
    assert log.slow_calls == ()
    assert log.notes == ()


def test_a_slow_call_in_words():
    call = SlowCall("f", None, 1, 0.0001, "`f` is slow.", fix="Do less.")
    assert (
        slow_calls.sentence(call) == "Slow calls (1 call, 100 µs in total): `f` is slow. Do less."
    )
