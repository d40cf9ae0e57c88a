"""Several fresh processes: their rounds kept apart, and the reason for one that dies or hangs."""

from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import replace

import jax
import pytest

from jaxscope.analysis.comparison import stats
from jaxscope.bench import Entry, Limits, Plan, PlanError, Progress, processes, worker
from jaxscope.bench import run as compare
from jaxscope.capture.program import describe
from jaxscope.model import Environment
from jaxscope.model.comparison import BenchWarning, ComparisonRecord, ComparisonRow, Rounds
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


def test_two_processes_of_a_notebook_give_two_sets_of_rounds_and_one_ratio():
    pytest.importorskip("cloudpickle")
    notified, held = [], normal(3)
    mine = plan(
        lambda x: x.sum() + 0 * held[0],
        processes=2,
        progress=lambda step: notified.append(step.text),
    )
    record = compare(mine)
    assert [len(row.processes) for row in record.rows] == [2, 2]
    assert [len(rounds.seconds) for row in record.rows for rounds in row.processes] == [8] * 4
    assert [row.agrees for row in record.rows] == [True, True]
    assert record.stopped == ""
    assert [note for note in record.notes if note.startswith("Starting 2 fresh processes took ")]
    found = stats.ratio(record, record.rows[1], record.rows[0])
    assert len(found.processes) == 2
    assert any(text.startswith("process 2: ") for text in notified)


def test_a_note_gives_the_time_of_the_start_and_whether_a_limit_counts_it():
    assert processes.started(plan(), 3, 8.52) == "Starting 3 fresh processes took 8.5 s in total."
    limited = plan(limits=Limits(total_s=4.0))
    assert processes.started(limited, 1, 2.0) == (
        "Starting 1 fresh process took 2.0 s in total, not counted by the time limit."
    )


def test_a_process_gets_the_setting_of_64_bits(monkeypatch):
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


def test_a_process_gets_settings_that_no_variable_has(in_place):
    mine = plan(process_functions.told_in_place, processes=2)
    reference = replace(mine.entries[1], function=process_functions.one)
    record = compare(replace(mine, entries=(mine.entries[0], reference)))
    assert [row.failure for row in record.rows] == ["", ""]
    assert [row.agrees for row in record.rows] == [True, True]


def test_settings_that_cannot_be_changed_are_left_alone():
    before = describe.settings()
    worker.set_up({"jax_no_such_setting": 1, "jax_default_matmul_precision": "nonsense"})
    assert describe.settings() == before


def test_an_interrupt_keeps_the_processes_before_it():
    record = compare(plan(processes=2, progress=process_functions.interrupted_in_the_second))
    assert record.stopped == "interrupted in process 2 of 2"
    assert [len(row.processes) for row in record.rows] == [1, 1]


def test_a_process_that_dies_is_an_error_when_nothing_was_measured():
    with pytest.raises(PlanError, match="process 1 of 2 failed: exit status 3"):
        compare(plan(process_functions.dies, processes=2))


def child(code):
    """A child process that runs some other code."""
    return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)


def test_a_silent_process_has_hung(tmp_path):
    said = tmp_path / "said"
    process = child(
        "import pathlib, time; print('0.0 one: first call', flush=True)\n"
        f"pathlib.Path({str(said)!r}).touch(); time.sleep(600)"
    )
    try:
        while not said.exists() and process.poll() is None:
            time.sleep(0.01)
        with pytest.raises(processes.ProcessFailed, match="it hung at `one: first call`"):
            processes.follow(plan(), process, 0, float("inf"), 2.0)
    finally:
        process.kill()
        process.wait()


def test_output_of_user_code_is_not_progress():
    notified = []
    process = child("print('hello'); print('0.5 x: round 3'); print('')")
    mine = plan(processes=2, progress=notified.append)
    processes.follow(mine, process, 1, float("inf"), 60.0)
    assert notified == [Progress("process 2: x: round 3", 0.75)]


def test_without_cloudpickle_a_lambda_cannot_be_sent_and_the_fix_is_given(monkeypatch):
    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    with pytest.raises(PlanError, match=r"jaxscope\[bench\]` \(cloudpickle\) may help"):
        processes.packed(plan(lambda x: x))


def test_code_that_cannot_be_pickled_is_named():
    pytest.importorskip("cloudpickle")
    held = (value for value in ())
    with pytest.raises(PlanError, match=r"cannot be sent to a fresh process: .*generator"):
        processes.packed(plan(lambda x: held))


def test_processes_are_merged_by_row_with_the_warnings_of_all():
    environment = Environment("", "", "", "", "", devices=(), x64=False)

    def record(seconds, failure="", codes=()):
        row = ComparisonRow(
            "a",
            "numpy",
            "cpu:0",
            processes=(Rounds((seconds,) * 6),) if seconds else (),
            failure=failure,
            warnings=tuple([BenchWarning(code, code) for code in codes]),
        )
        return ComparisonRecord(
            "", "", environment, (row,), warnings=(BenchWarning("J306", "busy"),)
        )

    joined = processes.merged(
        [record(1.0, codes=("J301",)), record(0, "It died."), record(2.0, codes=("J301", "J302"))]
    )
    (row,) = joined.rows
    assert [rounds.seconds[0] for rounds in row.processes] == [1.0, 2.0]
    assert row.failure == "It died."
    assert [warning.code for warning in row.warnings] == ["J301", "J302"]
    assert [warning.code for warning in joined.warnings] == ["J306"]
