"""A benchmark on several processes is ranked only where programs and results agree."""

from dataclasses import replace

import pytest

from jaxscope.analysis.cluster.agreement import merged_bench, places, slim
from jaxscope.model import Environment
from jaxscope.model.comparison import ComparisonRecord, ComparisonRow, Rounds
from jaxscope.results.cluster_run import ClusterBench

HERE = Environment("1", "0.10.2", "0.10.2", "3.11", "Linux", devices=("cpu:0 cpu",), x64=False)
ROW = ComparisonRow(
    "jax",
    "jax",
    "cpu:0",
    dtype="float32",
    processes=(Rounds((1e-3,) * 11),),
    error_limit=1e-4,
    program="abc",
    norms=(2.0,),
)


def record(row: ComparisonRow = ROW, environment: Environment = HERE) -> ComparisonRecord:
    return ComparisonRecord("cell", "2026-01-01T00:00:00Z", environment, (row,))


def reason(other: ComparisonRecord) -> str:
    (group,) = ClusterBench({0: record(), 1: other}, {}, {0: "a", 1: "b"}).merged.groups
    return group.reason


@pytest.mark.parametrize("norm", [2.0, 2.0001])
def test_equal_programs_with_results_within_the_tolerance_are_ranked(norm: float) -> None:
    assert reason(record(replace(ROW, norms=(norm,)))) == ""


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (record(replace(ROW, program="def")), "The programs differ: abc on process 0 and def"),
        (record(replace(ROW, norms=(2.2,))), "The results of processes 0 and 1 differ by 9.09 %"),
        (record(replace(ROW, norms=())), "could not be compared"),
        (record(replace(ROW, norms=(float("nan"),))), "differ by"),
        (record(replace(ROW, norms=(2.0, 1.0))), "differ by"),
        (record(replace(ROW, dtype="float64")), "The dtypes of the results differ"),
        (record(environment=replace(HERE, jax="0.9.0")), "The versions of JAX differ"),
        (record(replace(ROW, processes=(), failure="It raised.")), "fewer than two processes"),
    ],
)
def test_processes_that_do_not_agree_are_not_ranked(other: ComparisonRecord, words: str) -> None:
    assert words in reason(other)


def test_a_process_is_called_the_fastest_only_where_its_times_are_apart() -> None:
    slow = record(replace(ROW, processes=(Rounds((2e-3,) * 11),)))
    found = ClusterBench({0: record(), 1: slow}, {}, {0: "a", 1: "b"})
    assert "process 0 is the fastest" in found.summary()
    assert "2.00×" in found.to_text(width=120)
    same = ClusterBench({0: record(), 1: record()}, {}, {0: "a", 1: "a"})
    assert "fastest" not in same.summary()


def test_no_ratio_is_shown_where_the_processes_are_not_ranked() -> None:
    found = ClusterBench(
        {0: record(), 1: record(replace(ROW, program="def"))}, {}, {0: "a", 1: "a"}
    )
    assert "not ranked" in found.summary()
    assert "×" not in found.to_text(width=120)


def test_of_many_processes_those_that_differ_the_fastest_and_the_slowest_are_shown() -> None:
    def timed(process: int) -> ComparisonRecord:
        seconds = (1 + (process * 37 % 101) / 100) * (0.5 if process == 617 else 1) * 1e-3
        program = "def" if process == 500 else "abc"
        return record(replace(ROW, program=program, processes=(Rounds((seconds,) * 11),)))

    rows = [slim(row) for process in range(1000) for row in places(process, "h", timed(process))]
    hosts = {process: f"h{process // 8}" for process in range(1000)}
    found = merged_bench(rows, {3: "ValueError: no"}, hosts)
    (group,) = found.groups
    assert group.places[0].process == 617
    assert {500, 617} < {place.process for place in group.places}
    assert len(group.places) < 16
    assert not any(place.row.samples for place in group.places)
    assert found.leads == (0, 500)
    document = ClusterBench({}, {}, {}, found).to_text(width=400)
    assert "Benchmark · 1000 processes · 125 hosts" in document
    assert "abc on processes 0–499 and 501–999, and def on process 500" in document.replace(
        "999 and def", "999, and def"
    )
    assert "Process 3 failed: ValueError: no." in document
