"""Several fresh processes: their rounds kept apart, and what is said of one that dies or hangs."""

from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import replace

import jax
import pytest

from jaxscope.analysis.comparison import stats
from jaxscope.bench import Entry, Limits, Plan, PlanError, Progress, processes
from jaxscope.bench import run as compare
from jaxscope.capture.program import describe
from jaxscope.model import Environment
from jaxscope.model.comparison import ComparisonRecord, Doubt, Rounds, Row
from tests.bench import process_functions
from tests.bench.side_by_side import normal

FEW = Limits(min_rounds=8, max_rounds=8)


def plan(function=process_functions.total, inputs=process_functions.made, **settings):
    settings.setdefault("limits", FEW)
    return Plan(
        (Entry("one", "numpy", function), Entry("two", "numpy", process_functions.total)),
        inputs,
        columns=False,
        **settings,
    )


def test_two_sessions_of_a_notebook_give_two_sets_of_rounds_and_one_ratio():
    pytest.importorskip("cloudpickle")
    heard, held = [], normal(3)
    mine = plan(
        lambda x: x.sum() + 0 * held[0],
        sessions=2,
        progress=lambda step: heard.append(step.text),
    )
    record = compare(mine)
    assert [len(row.sessions) for row in record.rows] == [2, 2]
    assert [len(rounds.seconds) for row in record.rows for rounds in row.sessions] == [8] * 4
    assert [row.agrees for row in record.rows] == [True, True]
    assert record.stopped == ""
    assert [note for note in record.notes if note.startswith("Starting 2 fresh processes took ")]
    found = stats.ratio(record, record.rows[1], record.rows[0])
    assert len(found.sessions) == 2
    assert any(text.startswith("session 2: ") for text in heard)


def test_it_is_said_how_long_the_start_took_and_whether_a_limit_counts_it():
    assert processes.started(plan(), 3, 8.52) == "Starting 3 fresh processes took 8.5 s in all."
    limited = plan(limits=Limits(total_s=4.0))
    assert processes.started(limited, 1, 2.0) == (
        "Starting a fresh process took 2.0 s in all, which the time limit does not count."
    )


def test_a_session_is_told_of_64_bits_where_it_would_not_know(monkeypatch):
    monkeypatch.delenv("JAX_ENABLE_X64", raising=False)
    assert "JAX_ENABLE_X64" not in processes._environment()
    with jax.enable_x64(True):
        assert processes._environment()["JAX_ENABLE_X64"] == "1"
    monkeypatch.setenv("JAX_ENABLE_X64", "1")
    with jax.enable_x64(False):
        assert processes._environment()["JAX_ENABLE_X64"] == "0"


@pytest.fixture
def in_place():
    jax.config.update("jax_cpu_enable_async_dispatch", False)
    yield
    jax.config.update("jax_cpu_enable_async_dispatch", True)


def test_a_session_is_told_of_settings_that_code_has_made(in_place):
    mine = plan(process_functions.told_in_place, sessions=2)
    reference = replace(mine.entries[1], function=process_functions.one)
    record = compare(replace(mine, entries=(mine.entries[0], reference)))
    assert [row.failure for row in record.rows] == ["", ""]
    assert [row.agrees for row in record.rows] == [True, True]


def test_settings_that_cannot_be_made_are_left_alone():
    before = describe.settings()
    processes.set_up({"jax_no_such_setting": 1, "jax_default_matmul_precision": "nonsense"})
    assert describe.settings() == before


def test_an_interrupt_keeps_the_sessions_before_it():
    record = compare(plan(sessions=2, progress=process_functions.interrupted_in_the_second))
    assert record.stopped == "interrupted in session 2 of 2"
    assert [len(row.sessions) for row in record.rows] == [1, 1]


def test_a_process_that_dies_is_an_error_when_nothing_was_measured():
    with pytest.raises(PlanError, match="session 1 of 2 failed: exit status 3"):
        compare(plan(process_functions.dies, sessions=2))


def child(code):
    """A process that stands for a session."""
    return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)


def test_a_process_that_says_nothing_any_more_has_hung(tmp_path):
    said = tmp_path / "said"
    process = child(
        "import pathlib, time; print('0.0 one: first call', flush=True)\n"
        f"pathlib.Path({str(said)!r}).touch(); time.sleep(600)"
    )
    try:
        while not said.exists() and process.poll() is None:
            time.sleep(0.01)
        with pytest.raises(processes.SessionFailed, match="it hung at `one: first call`"):
            processes.follow(plan(), process, 0, float("inf"), 2.0)
    finally:
        process.kill()
        process.wait()


def test_what_user_code_prints_is_no_progress():
    heard = []
    process = child("print('hello'); print('0.5 x: round 3'); print('')")
    mine = plan(sessions=2, progress=heard.append)
    processes.follow(mine, process, 1, float("inf"), 60.0)
    assert heard == [Progress("session 2: x: round 3", 0.75)]


def test_without_cloudpickle_they_do_not_and_the_cure_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    with pytest.raises(PlanError, match="`pip install cloudpickle` may help"):
        processes.packed(plan(lambda x: x))


def test_what_cannot_travel_is_named():
    pytest.importorskip("cloudpickle")
    held = (value for value in ())
    with pytest.raises(PlanError, match=r"cannot be sent to one: .*generator"):
        processes.packed(plan(lambda x: held))


def test_sessions_are_joined_by_row_with_the_doubts_of_all():
    environment = Environment("", "", "", "", "", devices=(), x64=False)

    def record(seconds, failure="", codes=()):
        row = Row(
            "a",
            "numpy",
            "cpu:0",
            sessions=(Rounds((seconds,) * 6),) if seconds else (),
            failure=failure,
            warnings=tuple([Doubt(code, code) for code in codes]),
        )
        return ComparisonRecord("", "", environment, (row,), warnings=(Doubt("J306", "busy"),))

    joined = processes.together(
        [record(1.0, codes=("J301",)), record(0, "It died."), record(2.0, codes=("J301", "J302"))]
    )
    (row,) = joined.rows
    assert [rounds.seconds[0] for rounds in row.sessions] == [1.0, 2.0]
    assert row.failure == "It died."
    assert [doubt.code for doubt in row.warnings] == ["J301", "J302"]
    assert [doubt.code for doubt in joined.warnings] == ["J306"]
