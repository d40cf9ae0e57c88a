"""Time limits: an alarm for Python code, a thread of its own for native code."""

from __future__ import annotations

import ctypes
import importlib
import itertools
import signal
import sys
import threading
import time
import weakref

import pytest

from jaxscope.bench.rounds.watchdog import Alarm, TimedOut, run_on_thread


def test_a_block_that_takes_too_long_is_cut_off_where_it_stands():
    reached = []

    def nap(alarm):
        with alarm.within(0.05, "the nap"):
            reached.append("asleep")
            time.sleep(30)
            reached.append("awake")

    with Alarm() as alarm, pytest.raises(TimedOut, match=r"^the nap took longer than 0\.05 s"):
        nap(alarm)
    assert reached == ["asleep"]


def test_an_alarm_inside_a_finalizer_rings_after_it_where_it_is_not_lost():
    reached = []

    class Slow:
        def __del__(self):
            time.sleep(1.0)
            reached.append("finalized")

    def work(alarm):
        with alarm.within(0.5, "the work"):
            del slow[0]
            time.sleep(30)

    slow = [Slow()]
    with Alarm() as alarm, pytest.raises(TimedOut, match=r"^the work took longer"):
        work(alarm)
    assert reached == ["finalized"]


def test_the_callback_of_a_weak_reference_ends_before_the_block_is_stopped():
    class Held:
        pass

    def work(alarm):
        with alarm.within(0.05, "the work"):
            del held[0]
            time.sleep(30)

    ended = []
    held = [Held()]
    weakref.finalize(held[0], lambda: (time.sleep(0.2), ended.append("called")))
    with Alarm() as alarm, pytest.raises(TimedOut, match=r"^the work took longer"):
        work(alarm)
    assert ended == ["called"]


@pytest.mark.parametrize("on_thread", [False, True])
def test_an_import_ends_before_the_code_is_stopped(on_thread, tmp_path, monkeypatch):
    slow = tmp_path / f"slow_import_{on_thread}"
    slow.mkdir()
    (slow / "__init__.py").write_text("from . import part\nimport time\ntime.sleep(0.3)\n")
    (slow / "part.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)

    def work():
        importlib.import_module(slow.name)
        while True:
            time.sleep(0.001)

    if on_thread:
        with pytest.raises(TimedOut, match="was stopped"):
            run_on_thread(work, 0.05, "the work")
    else:
        with Alarm() as alarm, pytest.raises(TimedOut), alarm.within(0.05, "the work"):
            work()
    module = sys.modules.pop(slow.name)
    assert module.part is sys.modules.pop(f"{slow.name}.part")


def test_a_compilation_by_numba_ends_before_the_code_is_stopped():
    given = {"__name__": "numba.core.registry", "sleep": time.sleep, "loaded": []}
    code = "def load():\n    for part in range(30):\n        sleep(0.01)\n    loaded.append(1)"
    exec(code, given)

    def work(alarm):
        with alarm.within(0.05, "the work"):
            given["load"]()
            time.sleep(30)

    with Alarm() as alarm, pytest.raises(TimedOut):
        work(alarm)
    assert given["loaded"] == [1]


def test_an_alarm_that_c_code_could_only_print_rings_again_and_prints_nothing(capsys):
    def work(alarm):
        with alarm.within(0.05, "the work"):
            ctypes.CFUNCTYPE(None)(lambda: time.sleep(0.3))()
            time.sleep(30)

    with Alarm() as alarm, pytest.raises(TimedOut, match=r"^the work took longer"):
        work(alarm)
    assert capsys.readouterr().err == ""


def test_what_else_c_code_prints_is_printed_beside_an_alarm(monkeypatch):
    printed = []
    monkeypatch.setattr(sys, "unraisablehook", lambda found: printed.append(found.exc_type))
    with Alarm():
        ctypes.CFUNCTYPE(None)(lambda: 1 / 0)()
    assert printed == [ZeroDivisionError]
    ctypes.CFUNCTYPE(None)(lambda: [][0])()
    assert printed == [ZeroDivisionError, IndexError]


def test_a_block_in_time_is_left_alone():
    with Alarm() as alarm:
        with alarm.within(0.3, "quick"):
            pass
        time.sleep(0.4)


def test_an_earlier_alarm_waits_and_rings_afterwards():
    rang = []
    handler = signal.signal(signal.SIGALRM, lambda *_: rang.append("other"))
    pending = signal.setitimer(signal.ITIMER_REAL, 0.5)
    try:
        with Alarm() as alarm:
            with alarm.within(100.0, "ours"):
                time.sleep(0.8)
            assert rang == []
        ends = time.monotonic() + 30
        while not rang and time.monotonic() < ends:
            time.sleep(0.01)
        assert rang == ["other"]
    finally:
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, *pending)


def test_on_a_different_thread_nothing_is_armed_and_nothing_breaks():
    seen = []

    def elsewhere():
        with Alarm() as alarm:
            with alarm.within(0.01, "nothing"):
                time.sleep(0.03)
            seen.append(alarm.armed)

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert seen == [False]


def test_work_on_a_thread_gives_its_result_and_its_error():
    assert run_on_thread(lambda: 7, 5.0, "it") == 7
    with pytest.raises(ZeroDivisionError):
        run_on_thread(lambda: 1 // 0, 5.0, "it")


def test_work_on_a_thread_that_takes_too_long_is_abandoned():
    ended = threading.Event()

    def work():
        ended.wait(10)

    try:
        with pytest.raises(
            TimedOut, match=r"the compilation took longer than .* and continues"
        ) as e:
            run_on_thread(work, 0.05, "the compilation")
        assert "wait until it ends, or restart the kernel" in str(e.value)
    finally:
        ended.set()


def test_python_code_on_a_thread_is_stopped_between_two_operations():
    threads = []

    def work():
        threads.append(threading.current_thread())
        while True:
            time.sleep(0.001)

    with pytest.raises(TimedOut, match=r"^the loop took longer than 0\.05 s and was stopped\.$"):
        run_on_thread(work, 0.05, "the loop")
    assert not threads[0].is_alive()


def test_native_code_on_a_thread_ends_when_it_returns_to_python():
    returned, threads = threading.Event(), []

    def work():
        threads.append(threading.current_thread())
        returned.wait(30)
        while True:
            time.sleep(0.001)

    with pytest.raises(TimedOut, match="continues in the background"):
        run_on_thread(work, 0.05, "the compilation")
    returned.set()
    threads[0].join(30)
    assert not threads[0].is_alive()


def test_a_finalizer_on_a_thread_ends_before_the_work_is_stopped():
    reached = []

    class Slow:
        def __del__(self):
            for _ in range(30):
                time.sleep(0.01)
            reached.append("finalized")

    def work():
        slow = [Slow()]
        del slow[0]
        while True:
            time.sleep(0.001)

    with pytest.raises(TimedOut, match="was stopped"):
        run_on_thread(work, 0.05, "the work")
    assert reached == ["finalized"]


def test_progress_is_notified_every_five_seconds():
    observed, clock = [], itertools.count(0, 2.0)
    ended = threading.Event()

    def notify(text):
        observed.append(text)
        if len(observed) == 2:
            ended.set()

    run_on_thread(lambda: ended.wait(10), 1000.0, "XLA", notify, lambda: next(clock))
    assert observed[:2] == ["XLA has taken 5 s", "XLA has taken 10 s"]
