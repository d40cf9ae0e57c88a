"""Programs of compiles, opened again from what JAX holds."""

from __future__ import annotations

import gc
import time
import weakref

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxscope
from jaxscope.capture.compile_log.open_program import RELEASED, program_of
from jaxscope.capture.compiles.listener import Listener
from jaxscope.capture.compiles.live_programs import LivePrograms
from jaxscope.model import StageKind
from jaxscope.results.report import Report

X = np.ones((4, 8), np.float32)


@pytest.fixture
def listener():
    with Listener() as listening:
        yield listening


def opened(listener: Listener, serial: int) -> Report:
    return Report(*program_of(listener, serial))


def test_a_compile_opens_as_a_report_with_all_its_texts(listener):
    f = jax.jit(lambda x, w: jnp.tanh(x @ w).sum())
    before = listener.compile_count
    f(X, X.T)
    report = opened(listener, 1)
    assert listener.compile_count == before + 1
    assert report.summary().startswith("jit(<lambda>) · cpu:0 · compiled once in")
    assert "stablehlo.dot_general" in report.stage("stablehlo").text
    assert "HloModule" in report.stage("hlo").text
    assert "HloModule" in report.stage("optimized_hlo").text
    assert "tanh" in report.stage("jaxpr").text
    assert [(v.name, v.aval) for v in report.inputs] == [
        ("x", "float32[4,8]"),
        ("w", "float32[8,4]"),
    ]
    assert report.cost.flops > 256
    assert report.memory.argument == 256
    assert not report.exact
    assert report.compiles[0].serial == 1
    assert listener.notes == ()


def test_it_says_from_which_cell_it_was_called(listener):
    jax.jit(lambda x: x + 2)(X)
    report = Report(*program_of(listener, 1, {__file__: "In [7]"}.get))
    assert report.record.notes[0].startswith("Compilation 1 of this session, at In [7]:")


def test_the_source_that_was_compiled_comes_before_the_call(listener, tmp_path):
    text = "import jax\n\n\n@jax.jit\ndef twice(x):\n    return x * 2\n"
    (tmp_path / "train.py").write_text(text, encoding="utf-8")
    names: dict = {}
    exec(compile(text, str(tmp_path / "train.py"), "exec"), names)
    names["twice"](X)
    report = opened(listener, 1)
    assert [source.name for source in report.sources] == ["train.py", "test_open_program.py"]
    assert "at test_open_program.py:" in report.record.notes[0]


def test_code_that_the_user_did_not_write_opens_too(listener):
    jax.clear_caches()
    jnp.linalg.norm(jnp.ones((3, 3)))
    names = {raw.fun_name: raw.number for raw in listener.records if raw.compiled}
    report = opened(listener, names["norm"])
    assert "HloModule" in report.stage("optimized_hlo").text
    assert report.sources[0].file == __file__


def test_a_program_is_held_by_its_function_and_then_a_while(listener):
    def call(i):
        jax.jit(lambda x: x + i)(np.ones(3, np.float32))

    f = jax.jit(lambda x: x * 2)
    f(np.ones(3, np.float32))
    for i in range(20):
        call(i)
    gc.collect()
    assert "multiply" in opened(listener, 1).stage("stablehlo").text
    serials = [raw.number for raw in listener.records if raw.compiled][1:]
    alive = [listener.programs.get(serial) is not None for serial in serials]
    assert alive == [False] * 4 + [True] * 16
    with pytest.raises(LookupError, match="JAX no longer holds this program"):
        opened(listener, serials[0])
    with pytest.raises(LookupError, match="Compilation 999 is no longer in the history"):
        opened(listener, 999)


def test_a_program_with_callbacks_is_left_to_jax(listener):
    class Mine:
        """What the callback holds."""

    def call():
        mine = Mine()

        def f(x):
            jax.debug.callback(lambda v, mine=mine: None, x)
            return x + 1

        jitted = jax.jit(f)
        jitted(np.ones(3, np.float32))
        jax.effects_barrier()
        assert listener.programs.get(1) is not None
        return weakref.ref(mine)

    dead = call()
    # A thread that looks at the frames of all others may hold the call's for a moment.
    deadline = time.monotonic() + 10
    while dead() is not None and time.monotonic() < deadline:
        time.sleep(0.01)
        gc.collect()
    assert dead() is None
    assert listener.programs.get(1) is None


def test_a_program_with_large_constants_is_left_to_jax(listener):
    def call():
        big = np.ones((2000, 2000), np.float32)
        f = jax.jit(lambda x: x + jnp.asarray(big))
        f(np.float32(1))
        (raw,) = [raw for raw in listener.records if raw.fun_name == "<lambda>"]
        return raw.number

    number = call()
    gc.collect()
    assert listener.programs.get(number) is None


def test_programs_that_can_be_looked_up_are_bounded(listener):
    kept = listener._open.programs = LivePrograms(3)
    functions = [jax.jit(lambda x, i=i: x + i) for i in range(5)]
    for f in functions:
        f(np.ones(3, np.float32))
    assert [kept.get(n) is not None for n in range(1, 6)] == [False, False, True, True, True]


def test_the_log_opens_its_compiles():
    with jaxscope.watch() as log:
        f = jax.jit(lambda x: x * 3)
        f(np.ones(3, np.float32))
        f(np.ones(4, np.float32))
    report = log.report(1)
    assert "4xf32" in report.stage(StageKind.STABLEHLO).text
    assert report.compiles[0].causes[0].path == "x"
    assert "released" not in RELEASED
    f.clear_cache()
    with pytest.raises(IndexError):
        log.report(2)
