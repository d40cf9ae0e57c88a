"""The process that writes dumps: its end is never that of the user's."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import pytest

import jaxscope
from jaxscope.capture.program import dump_process
from jaxscope.capture.targets import worker, workers
from jaxscope.model import Unavailable
from jaxscope.results.report import Report

pytestmark = pytest.mark.jax

AROUND = """
import os, runpy, sys, time
sys.path.insert(0, sys.argv[2])
sys.path.insert(0, sys.argv[1])
from jaxscope.capture._jax import dumps
compile_portable = dumps.compile_portable
def broken(*given):
    {body}
dumps.compile_portable = broken
runpy.run_path({worker!r}, run_name="__main__")
"""


@pytest.fixture(scope="module", autouse=True)
def ended() -> Iterator[None]:
    yield
    workers.end_all()


@pytest.fixture
def planted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Callable[[str], None]]:
    """Plants a statement in the place of the compilation, for the processes that start now."""

    def plant(body: str) -> None:
        workers.end_all()
        script = tmp_path / "worker.py"
        script.write_text(AROUND.format(body=body, worker=worker.__file__))
        command = [sys.executable, "-I", str(script), *workers.homes()]
        monkeypatch.setattr(workers, "own_command", lambda: command)

    yield plant
    workers.end_all()


def inspected() -> Report:
    with jaxscope.options(runs=0):
        return jaxscope.inspect(lambda x: jnp.tanh(x @ x) / 3.0, jnp.ones((8, 8)))


def running() -> list[workers.Worker]:
    return [one for one in workers._WORKERS.values() if one.alive]


ABORTS = [
    ("os.abort()", "XLA aborted while it wrote the dump (SIGABRT); the report is unchanged"),
    (
        "os.write(2, b'F1125 10:00:00.1 7 a.cc:12] No room: x\\n'); os.abort()",
        "XLA aborted while it wrote the dump (SIGABRT: No room: x); the report is unchanged",
    ),
    (
        "os.kill(os.getpid(), 9)",
        "the process that wrote the dump was ended by SIGKILL; the report is unchanged",
    ),
    (
        "sys.exit('no room')",
        "the process that wrote the dump ended with status 1: no room; the report is unchanged",
    ),
]


@pytest.mark.parametrize(("body", "reason"), ABORTS)
def test_the_end_of_the_process_is_a_sentence(
    planted: Callable[[str], None], body: str, reason: str
) -> None:
    report = inspected()
    planted(body)
    assert report.passes() == Unavailable(reason)


def test_each_dump_has_the_sentence_and_the_next_one_is_usable(
    planted: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    report = inspected()
    before = report.to_json()
    body, reason = ABORTS[0]
    planted(body)
    assert report.stage("passes").unavailable == Unavailable(reason)
    assert report.stage("remarks").unavailable == Unavailable(reason)
    assert report.stage("llvm").text == ""
    assert report.to_json() == before
    monkeypatch.undo()
    passes = report.passes()
    assert not isinstance(passes, Unavailable)
    assert [p for p in passes if p.name == "algsimp"]
    assert report.stage("passes").text


def test_a_dump_whose_hlo_is_whole_is_read_although_xla_aborted_later(
    planted: Callable[[str], None],
) -> None:
    planted("compile_portable(*given); os.abort()")
    report = inspected()
    passes = report.passes()
    assert not isinstance(passes, Unavailable)
    assert [p for p in passes if p.name == "algsimp"]
    with jaxscope.options(runs=0):
        other = jaxscope.inspect(lambda x: jnp.sin(x) * jnp.exp(x), jnp.ones(64))
    missing = other.stage("llvm").unavailable
    assert missing is not None
    assert missing.reason.startswith("XLA aborted while it wrote the dump")


def test_a_process_killed_between_two_dumps_is_replaced() -> None:
    assert not isinstance(inspected().passes(), Unavailable)
    [first] = running()
    os.kill(first._process.pid, signal.SIGKILL)
    first._process.wait()
    assert not isinstance(inspected().passes(), Unavailable)
    assert first not in running()


def test_xla_is_not_waited_for_once_its_hlo_is_whole(planted: Callable[[str], None]) -> None:
    planted("compile_portable(*given); time.sleep(300)")
    report = inspected()
    began = time.monotonic()
    passes, remarks = report.passes(), report.remarks()
    assert time.monotonic() - began < 120
    assert not isinstance(passes, Unavailable)
    assert passes.after(len(passes)).count("\n") > 3
    assert [p for p in passes if p.name == "algsimp"]
    assert not isinstance(remarks, Unavailable)
    assert len(running()) == 1  # for the next dump


def test_a_dump_that_needs_more_than_hlo_waits_for_the_answer(
    planted: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    planted("compile_portable(*given); time.sleep(300)")
    monkeypatch.setattr(dump_process, "LIMIT_S", 5.0)
    with jaxscope.options(runs=0):
        report = jaxscope.inspect(lambda x: jnp.sin(x) * jnp.exp(x), jnp.ones(64))
    missing = report.stage("llvm").unavailable
    assert missing is not None
    assert missing.reason == "XLA had not written the dump after 5 s and was ended"


def test_a_process_is_used_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "_GRACE_S", 60.0)
    inspected().passes()
    [first] = running()
    report = inspected()
    report.passes()
    report.remarks()
    assert running() == [first]


def test_the_question_for_the_price_starts_the_process() -> None:
    workers.end_all()
    report = inspected()
    assert running() == []
    report.price("passes")
    assert len(running()) == 1


def test_the_start_of_the_process_is_no_part_of_the_compilation(
    planted: Callable[[str], None],
) -> None:
    report = inspected()
    planted("compile_portable(*given)")  # by a new process
    began = time.monotonic()
    passes = report.passes()
    taken = time.monotonic() - began
    assert not isinstance(passes, Unavailable)
    assert 0 < passes.seconds < taken - 0.2  # it imports JAX before


def test_an_interrupt_ends_the_process_and_keeps_the_report(
    planted: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    report = inspected()
    planted("time.sleep(60)")
    pid = os.getpid()
    # A shell ignores it for what runs in its background.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(1.5, os.kill, (pid, signal.SIGINT))
    timer.start()
    began = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            report.passes()
    finally:
        signal.signal(signal.SIGINT, before)
    timer.join()
    assert time.monotonic() - began < 30
    assert running() == []
    monkeypatch.undo()
    assert report.stage("optimized_hlo").text
    assert not isinstance(report.passes(), Unavailable)


def test_a_process_that_is_too_slow_is_ended(
    planted: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    report = inspected()
    planted("time.sleep(60)")
    monkeypatch.setattr(dump_process, "LIMIT_S", 0.3)
    found = report.passes()
    assert found == Unavailable("XLA had not written the dump after 300 ms and was ended")
    assert running() == []


SHARDED = """
import os
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
import jax, jax.numpy as jnp
import jaxscope
from jax.sharding import NamedSharding, PartitionSpec
from jaxscope.capture.targets import workers

devices = jax.devices()[2:]
mesh = jax.sharding.Mesh(devices, ("i",))
x = jax.device_put(jnp.ones((64, 64)), NamedSharding(mesh, PartitionSpec("i")))
fast = {"xla_cpu_enable_fast_math": True}
mapped = jax.pmap(lambda x: jax.lax.psum(x / 3.0, "i"), axis_name="i", devices=devices)
for function, argument in (
    (jax.jit(lambda x: jnp.tanh(x) / 3.0, donate_argnums=0), x),
    (jax.jit(lambda x: (x @ x.T).sum() / 3.0), x),
    (jax.jit(lambda x: x / 3.0, compiler_options=fast), x),
    (mapped, jnp.ones((2, 64))),
):
    with jaxscope.options(runs=0):
        passes = jaxscope.inspect(function, argument).passes()
    print(getattr(passes, "reason", ""), [p for p in passes if p.name == "algsimp"] != [])
print(len(workers._WORKERS))
"""


def test_donated_and_sharded_programs_and_options_are_those_that_run() -> None:
    given = {k: v for k, v in os.environ.items() if k != "JAX_NUM_CPU_DEVICES"}
    ran = subprocess.run(
        [sys.executable, "-c", SHARDED], capture_output=True, text=True, check=True, env=given
    )
    assert ran.stdout.split() == ["True"] * 4 + ["1"]


def test_a_library_call_of_this_process_has_passes_and_no_llvm() -> None:
    from jaxlib.cpu import _lapack

    capsule = _lapack.registrations()["lapack_spotrf_ffi"]
    jax.ffi.register_ffi_target("my_own_cholesky", capsule, platform="cpu")

    def f(x: Any) -> Any:
        shapes = (jax.ShapeDtypeStruct((8, 8), x.dtype), jax.ShapeDtypeStruct((), "int32"))
        found = jax.ffi.ffi_call("my_own_cholesky", shapes)(jnp.sin(x) / 3.0, uplo=76)
        return jnp.cos(found[0])

    with jaxscope.options(runs=0):
        report = jaxscope.inspect(f, jnp.eye(8))
    passes = report.passes()
    assert not isinstance(passes, Unavailable), passes
    missing = report.stage("llvm").unavailable
    assert missing is not None
    assert "my_own_cholesky" in missing.reason


def test_a_script_without_a_main_guard_runs_once(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent("""
            import jax.numpy as jnp, jaxscope
            print("begins")
            report = jaxscope.inspect(lambda x: jnp.tanh(x) / 3.0, jnp.ones(8))
            print(len(report.passes()) > 0)
        """)
    )
    ran = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["begins", "True"]
