"""The worker of `cpu`, which needs no environment, and workers that misbehave."""

import errno
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import io_callback
from jax.experimental import pallas as pl

import jaxscope
from jaxscope.analysis.hlo import parse_module
from jaxscope.analysis.targets.names import read_target
from jaxscope.capture import _jax
from jaxscope.capture.targets import process, workers
from jaxscope.capture.targets.compiled import TargetProgram, compile_for, lower_for
from jaxscope.capture.targets.environment import TargetError
from jaxscope.model import StageKind, Unavailable

pytestmark = pytest.mark.jax
CPU = read_target("cpu")


@pytest.fixture(scope="module", autouse=True)
def ended() -> Iterator[None]:
    yield
    workers.end_all()


def program(target: str = "cpu") -> TargetProgram:
    lowered = lower_for(
        jax.jit(lambda x: jnp.tanh(x @ x).sum()).trace(jnp.ones((64, 64))), read_target(target)
    )
    return compile_for(lowered, read_target(target))


def opcodes(text: str) -> list[str]:
    return [one.opcode for one in parse_module(text).instructions()]


def misbehaving(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, code: str) -> None:
    script = tmp_path / "worker.py"
    script.write_text(code)
    given = ([sys.executable, "-I", str(script)], {}, "fake 1.0")
    monkeypatch.setattr(process, "_command", lambda target: given)


def test_a_worker_compiles_the_program_of_this_process() -> None:
    made = program()
    ours = jax.jit(lambda x: jnp.tanh(x @ x).sum()).lower(jnp.ones((64, 64))).compile()
    assert opcodes(made.as_text()) == opcodes(str(ours.as_text()))
    assert made.memory_analysis().argument_size_in_bytes == 64 * 64 * 4
    assert made.buffers
    assert program().answer.facts["seconds"] > 0  # the same worker again


def test_a_crash_is_a_sentence_and_the_next_program_has_a_new_worker(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with monkeypatch.context() as patch:
        misbehaving(patch, tmp_path, "import os\ninput()\nos.abort()\n")
        with pytest.raises(TargetError, match=r"The compiler of cpu crashed \(SIGABRT\)"):
            program()
        misbehaving(patch, tmp_path, "import sys\nsys.exit('out of luck')\n")
        with pytest.raises(TargetError, match="ended with status 1 on this program: out of luck"):
            program()
    assert program().as_text()


def test_what_a_worker_says_before_it_is_asked_is_told() -> None:
    with workers.worker_once([sys.executable, "-c", "exit('out of luck')"], {}) as ended:
        ended._process.wait(60)
        with pytest.raises(workers.WorkerLost) as lost:
            ended.ask(Path(), 60)
    assert lost.value.said == "out of luck"


def test_a_worker_that_never_answers_is_ended(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    misbehaving(monkeypatch, tmp_path, "import time\nwhile True: time.sleep(1)\n")
    monkeypatch.setattr(process, "LIMIT_S", 0.3)
    with pytest.raises(TargetError, match="gave no answer within 300 ms and was ended"):
        program()
    assert not any(one.alive for key, one in workers._WORKERS.items() if "worker.py" in key[-2])


def test_a_compiler_that_is_not_installed_names_the_command(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("JAXSCOPE_CACHE", str(tmp_path))
    with pytest.raises(TargetError, match="`%jaxtargets install tpu` downloads about 213 MB"):
        program("tpu:v5e")


def test_a_foreign_lowering_is_never_compiled_here(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **kwargs: object) -> None:
        raise AssertionError("compiled in this process")

    x = jnp.ones((8, 8))
    with jaxscope.watch() as log:  # the trial compilation of the listener, once per process
        assert not log.notes
    monkeypatch.setattr("jax._src.compiler.backend_compile_and_load", refuse)
    with jaxscope.options(target="cpu"):
        report = jaxscope.inspect(lambda x: jnp.sin(x) * 2, x)
    [found] = report.record.programs
    assert found.target is not None
    assert not found.timings
    for kind in StageKind:
        report.stage(kind)


def test_a_foreign_lowering_of_the_users_own_is_refused() -> None:
    traced = jax.jit(lambda x: jnp.sin(x) + 1).trace(jnp.ones(4))
    for platform in ("tpu", "cuda"):
        with pytest.raises(TargetError, match=f"was lowered for {platform}, but JAX would compile"):
            jaxscope.inspect(traced.lower(lowering_platforms=(platform,)))
    for platforms in (("cpu",), ("cpu", "tpu"), None):
        lowered = traced.lower(lowering_platforms=platforms)
        assert _jax.foreign_platforms(lowered) == ()
    assert jaxscope.inspect(traced.lower(lowering_platforms=("cpu",))).stage("optimized_hlo").text


def test_a_program_for_more_devices_than_the_target_has_is_refused() -> None:
    mesh = jax.sharding.AbstractMesh((2,), ("i",))
    sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("i"))
    traced = jax.jit(jnp.sin).trace(jax.ShapeDtypeStruct((8,), jnp.float32, sharding=sharding))
    with pytest.raises(TargetError, match="sharded over 2 devices, but cpu has 1"):
        compile_for(lower_for(traced, CPU), CPU)


def test_a_target_program_has_the_stages_below_hlo_from_its_own_dump() -> None:
    x = jnp.ones((64, 64))
    with jaxscope.options(target="cpu"):
        report = jaxscope.inspect(lambda x: jnp.exp(jnp.sin(x)) * 2, x)
    for kind in (StageKind.THUNKS, StageKind.LLVM, StageKind.LLVM_OPTIMIZED, StageKind.ASM):
        stage = report.stage(kind)
        if "llvm" in kind and jax.__version_info__ >= (0, 11):
            assert stage.unavailable == Unavailable("this jaxlib dumps no LLVM IR of it")
            continue
        assert stage.unavailable is None, (kind, stage.unavailable)
        assert stage.anchors, kind
    assert report.stage("ptx").unavailable == Unavailable("a program for cpu has none")


def test_of_this_machines_own_programs_the_stages_of_a_target_name_the_option() -> None:
    report = jaxscope.inspect(jnp.sin, jnp.ones(4))
    for kind, target in (("ptx", "gpu:h100"), ("sass", "gpu:h100"), ("llo", "tpu:v5e")):
        missing = report.stage(kind).unavailable
        assert missing is not None
        assert missing.reason.endswith(f"run with `--target {target}`")


SHAPE = jax.ShapeDtypeStruct((8,), jnp.float32)


def prints(x: Any) -> Any:
    jax.debug.print("{}", x.sum())
    return x


@pytest.mark.parametrize(
    "function",
    [
        prints,
        lambda x: jax.pure_callback(np.asarray, SHAPE, x),
        lambda x: io_callback(np.asarray, SHAPE, x, ordered=True),
    ],
)
@pytest.mark.parametrize("target", ["tpu:v5e", "gpu:h100"])
def test_a_callback_is_named_as_the_reason(function: Callable[..., Any], target: str) -> None:
    with pytest.raises(TargetError, match=f"Leave them out to compile for {target}"):
        lower_for(jax.jit(function).trace(SHAPE), read_target(target))


def test_a_kernel_of_another_platform_is_not_taken_for_a_callback() -> None:
    def double(x: Any) -> Any:
        def kernel(given: Any, made: Any) -> None:
            made[...] = given[...] * 2

        return pl.pallas_call(kernel, out_shape=SHAPE)(x)

    with pytest.raises(TargetError, match="JAX cannot lower this program for cpu: Only interpret"):
        lower_for(jax.jit(double).trace(SHAPE), CPU)


def test_a_primitive_that_a_platform_does_not_have_is_named() -> None:
    traced = jax.jit(lambda x: jnp.linalg.eig(x)[0]).trace(jnp.ones((4, 4)))
    with pytest.raises(TargetError, match=r"cannot lower this program for tpu:v5e: .*'eig'"):
        lower_for(traced, read_target("tpu:v5e"))


def test_a_custom_call_that_the_compiler_does_not_have_is_named() -> None:
    with (
        jaxscope.options(target="cpu"),
        pytest.raises(TargetError, match=r"compiler of cpu rejects this program: .*my_own_ffi"),
    ):
        jaxscope.inspect(lambda x: jax.ffi.ffi_call("my_own_ffi", SHAPE)(x), SHAPE)


def test_a_topology_that_the_compiler_rejects_is_a_sentence(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    answer = '{"error": ["ValueError", "INVALID_ARGUMENT: v5e:3x3 is not divisible by 2x2x1."]}'
    code = f"f = input()\nopen(f + '/answer.json', 'w').write({answer!r})\nprint(f, flush=True)\n"
    misbehaving(monkeypatch, tmp_path, code + "input()\n")
    with pytest.raises(TargetError, match=r"tpu:v5e:3x3 rejects this topology: .*3x3 is not div"):
        program("tpu:v5e:3x3")


def test_a_full_disk_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*args: object, **kwargs: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(process.tempfile, "TemporaryDirectory", full)
    with pytest.raises(TargetError, match="to the compiler of cpu: No space left on device"):
        program()


def test_a_worker_without_space_for_its_answer_is_a_sentence(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    code = "input()\nraise OSError(28, 'No space left on device')\n"
    misbehaving(monkeypatch, tmp_path, code)
    with pytest.raises(TargetError, match=r"status 1 on this program: .*No space left on device"):
        program()
