"""Tracers that the user's code keeps, taken out of where they are kept."""

from __future__ import annotations

import gc
import queue
import sys
import threading
from typing import Any

import jax
import pytest

import jaxscope
from jaxscope.capture.inputs import leaks
from jaxscope.capture.inputs.leaks import TracerNet
from jaxscope.capture.options.refusals import RefusedError


def test_a_closure_gets_back_what_it_held() -> None:
    held: Any = 1

    def keep(x: Any) -> Any:
        nonlocal held
        held = x
        return x * 2

    (cell,) = keep.__closure__ or ()
    with TracerNet() as net:
        jax.jit(keep).trace(1.0)
        place = net.released(net.kept([]), {id(cell): 1})
    assert place == "the closure of a function"
    assert held == 1


def test_many_kept_tracers_take_few_passes_over_the_objects(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kept: list[Any] = []

    def closure(x: Any) -> Any:
        return lambda: x

    def keep(x: Any) -> Any:
        kept.extend(closure(x + i) for i in range(100))
        return x * 2

    passes: list[int] = []
    look = gc.get_referrers
    monkeypatch.setattr(gc, "get_referrers", lambda *of: (passes.append(len(of)), look(*of))[1])
    with TracerNet() as net:
        jax.jit(keep).trace(1.0)
        place = net.released(net.kept([]), {})
    assert place == "the closure of a function"
    assert max(passes) >= 100
    assert len(passes) <= 12  # some for the search, and for the wrappers, owners and caches


def test_an_attribute_is_of_the_object_that_has_it() -> None:
    class Variable:
        pass

    variable = Variable()
    members = vars(variable)  # now Python holds them in a dict

    def keep(x: Any) -> Any:
        variable.value = x
        return x * 2

    with TracerNet() as net:
        jax.jit(keep).trace(1.0)
        place = net.released(net.kept([]), {})
    assert place == "a Variable"
    assert members == {}


def test_a_thread_that_looks_at_the_frames_keeps_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    looked, taken, waited = queue.SimpleQueue[Any](), threading.Event(), threading.Event()

    def look() -> None:
        frame = looked.get()
        taken.set()
        waited.wait(60)
        del frame

    def seen(x: Any) -> Any:
        looked.put(sys._getframe())
        taken.wait()
        return x + 1

    thread = threading.Thread(target=look)
    thread.start()
    monkeypatch.setattr(leaks.time, "sleep", lambda _: (waited.set(), thread.join()))
    with jaxscope.options(runs=0):
        assert jaxscope.inspect(seen, jax.numpy.ones(3)).programs
    assert waited.is_set(), "the frame was there"


def test_a_frame_that_stays_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    frames = queue.SimpleQueue[Any]()
    monkeypatch.setattr(leaks.time, "sleep", waits.append)

    def seen(x: Any) -> Any:
        frames.put(sys._getframe())
        return x + 1

    with jaxscope.options(runs=0), pytest.raises(RefusedError, match="keeps a traced value"):
        jaxscope.inspect(seen, jax.numpy.ones(3))
    assert tuple(waits) == leaks._WAITS_S
