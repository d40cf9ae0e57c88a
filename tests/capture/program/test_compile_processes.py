"""Several processes with `jax.distributed`: each has its own report, and they can be compared."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

import jaxscope
from jaxscope.model import Effect
from jaxscope.results.report import Report
from tests.paths import ROOT

HERE = Path(__file__).parent
_SECONDS = 100


def run(folder: Path, factors: tuple[float, float]) -> tuple[list[Report], list[float]]:
    """The reports of two processes with two devices each, and what each computed."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    flags = "--xla_force_host_platform_device_count=2"
    environment = {**os.environ, "XLA_FLAGS": flags, "PYTHONPATH": str(ROOT)}
    paths = [folder / f"process{number}.json.gz" for number in range(2)]
    processes = [
        subprocess.Popen(
            [sys.executable, HERE / "one_of_two.py", str(i), port, str(factors[i]), paths[i]],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
        for i in range(2)
    ]
    said: list[str] = []
    try:
        for process in processes:
            out, error = process.communicate(timeout=_SECONDS)
            assert process.returncode == 0, error[-2000:]
            said.append(out)
    finally:
        for process in processes:
            if process.poll() is None:
                process.kill()
                process.communicate()
    results = [float(out.split()[-1]) for out in said]
    return [jaxscope.load(path) for path in paths], results


@pytest.fixture(scope="module")
def together(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Report], list[float]]:
    return run(tmp_path_factory.mktemp("processes"), (2.0, 2.0))


def test_two_processes_compute_together_under_jaxscope(together):
    _, results = together
    assert results == [2 * sum(range(32))] * 2


def test_each_process_sees_all_devices_and_both_processes(together):
    for report in together[0]:
        known = report.sharding
        assert known is not None
        assert (known.devices, known.available_devices, known.processes) == (4, 4, 2)
        (reduce,) = known.collectives
        assert known.device_groups[reduce.device_groups].size == 4
        assert "in 2 processes: mesh i=4." in report.to_text(full=True)


def test_a_shared_program_runs_once_since_the_others_would_not_follow(together):
    for report in together[0]:
        (program,) = report.programs
        assert program.effects == (Effect.OTHER_PROCESSES,)
        first = next(timing for timing in program.timings if timing.label == "first call")
        assert len(first.samples) == 1
        assert not any(timing.label in ("call", "dispatch") for timing in program.timings)


def texts(reports: list[Report]) -> set[str]:
    return {report.stage("stablehlo").text for report in reports}


def test_processes_that_compiled_the_same_program_have_the_same_texts(together):
    first, second = together[0]
    assert len(texts(together[0])) == 1
    assert first.sharding == second.sharding
    assert [len(report.compiles) for report in together[0]] == [1, 1]
    assert all(report.compiles[0].total_s > 0 for report in together[0])


def test_a_process_that_compiled_something_else_is_found(tmp_path):
    reports, _ = run(tmp_path, (2.0, 3.0))
    assert len(texts(reports)) == 2
