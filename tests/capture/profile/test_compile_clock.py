"""The clock around real compilations."""

from __future__ import annotations

import linecache
import time
from collections.abc import Iterator
from pathlib import Path

import jax
import jax.numpy as jnp
import pytest
from jax._src import compilation_cache

import jaxscope
from jaxscope.capture.profile import compile_clock
from jaxscope.model import Unavailable
from jaxscope.model.compiler.compile_time import CompilationPhase
from jaxscope.results.compile_time import CompileTimes
from tests.magics.notebook import open_notebook

pytestmark = pytest.mark.jax
X = jnp.ones((8, 8))


def clocked(log: jaxscope.CompileLog) -> CompileTimes:
    found = log.compile_time()
    assert isinstance(found, CompileTimes)
    return found


def test_an_unrolled_loop_is_the_first_line_and_the_seconds_add_up() -> None:
    def unrolled(x: jax.Array) -> jax.Array:
        for _ in range(40):
            x = jnp.tanh(x @ X)
        return x

    with jaxscope.watch(compile_time=True) as log:
        jax.jit(unrolled)(X)
    found = clocked(log)
    first = found.lines[0]
    assert (first.text, first.repeats, first.uniform) == ("x = jnp.tanh(x @ X)", 40, True)
    assert first.loop == "over `range(40)`"
    assert found.total_s == pytest.approx(log.total_s)
    assert sum(part.seconds for part in found.parts) == pytest.approx(found.total_s)
    assert any(part.phase is CompilationPhase.CODEGEN and part.name for part in found.parts)


def test_python_that_runs_while_jax_traces_is_found() -> None:
    def slow(x: jax.Array) -> jax.Array:
        time.sleep(0.4)
        return x + 1

    with jaxscope.watch(compile_time=True) as log:
        jax.jit(slow)(X)
    found = clocked(log)
    sleeping = [part.line for part in found.parts if part.phase is CompilationPhase.TRACING]
    assert found.lines[sleeping[0] or 0].text == "time.sleep(0.4)"


def test_a_session_of_the_users_is_left_alone(tmp_path: object) -> None:
    with jax.profiler.trace(str(tmp_path)), jaxscope.watch(compile_time=True) as log:
        jax.jit(lambda x: jnp.cosh(x) * 3)(X)
    found = clocked(log)
    assert found.data.notes == (
        "Another profiler session is open, so the seconds of XLA are not split.",
    )
    assert sum(part.seconds for part in found.parts) == pytest.approx(found.total_s)


def test_an_interrupted_trace_keeps_its_seconds() -> None:
    def interrupted(x: jax.Array) -> jax.Array:
        time.sleep(0.1)
        raise KeyboardInterrupt

    with jaxscope.watch(compile_time=True) as log, pytest.raises(KeyboardInterrupt):
        jax.jit(interrupted)(X)
    found = clocked(log)
    assert found.total_s >= 0.1
    assert "KeyboardInterrupt ended a compilation" in found.data.notes[0]


def test_nothing_was_requested_or_nothing_compiled() -> None:
    with jaxscope.watch() as log:
        pass
    found = log.compile_time()
    assert isinstance(found, Unavailable)
    assert "not requested" in found.reason
    with jaxscope.watch(compile_time=True) as log:
        pass
    found = log.compile_time()
    assert isinstance(found, Unavailable)
    assert "nothing was compiled" in found.reason


def test_a_report_has_the_same_and_its_growth() -> None:
    def loop(x: jax.Array, n: int) -> jax.Array:
        for i in range(n):
            x = jnp.sin(x) * i
        return x

    with jaxscope.options(compile_time=True, runs=0):
        small, large = (jaxscope.inspect(loop, X, n).compile_time() for n in (5, 20))
    assert isinstance(small, CompileTimes)
    assert isinstance(large, CompileTimes)
    assert small.growth(large, (5, 20)).order == "linear"


def test_custom_calls_are_clocked() -> None:
    def solved(x: jax.Array) -> jax.Array:
        values = jnp.linalg.svd(x)[1]
        return jax.pure_callback(lambda v: v, jax.ShapeDtypeStruct((8,), x.dtype), values)

    with jaxscope.watch(compile_time=True) as log:
        jax.jit(solved)(X)
    found = clocked(log)
    texts = {line.text for line in found.lines}
    assert "values = jnp.linalg.svd(x)[1]" in texts
    assert any("pure_callback" in text for text in texts)
    assert sum(part.seconds for part in found.parts) == pytest.approx(found.total_s)


@pytest.fixture
def persistent_cache(tmp_path: Path) -> Iterator[None]:
    settings = {
        "jax_compilation_cache_dir": str(tmp_path),
        "jax_persistent_cache_min_compile_time_secs": 0.0,
        "jax_persistent_cache_min_entry_size_bytes": -1,
    }
    before = {name: getattr(jax.config, name) for name in settings}
    compilation_cache.reset_cache()
    try:
        for name, value in settings.items():
            jax.config.update(name, value)
        yield
    finally:
        for name, value in before.items():
            jax.config.update(name, value)
        compilation_cache.reset_cache()


@pytest.mark.usefixtures("persistent_cache")
def test_a_hit_in_the_persistent_cache_has_nothing_to_clock_in_xla() -> None:
    def cached() -> None:
        jax.jit(lambda x: jnp.tanh(x @ x) * 7)(X)

    cached()
    with jaxscope.watch(compile_time=True) as log:
        cached()
    found = clocked(log)
    assert "from the persistent cache" in found.data.notes[0]
    assert not any(part.phase is CompilationPhase.CODEGEN for part in found.parts)
    assert sum(part.seconds for part in found.parts) == pytest.approx(found.total_s)


def test_an_interrupt_while_xla_compiles_keeps_the_seconds_so_far(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from jax._src import compiler

    def interrupted(*_: object, **__: object) -> object:
        time.sleep(0.1)
        raise KeyboardInterrupt

    monkeypatch.setattr(compiler, "backend_compile_and_load", interrupted)
    with jaxscope.watch(compile_time=True) as log, pytest.raises(KeyboardInterrupt):
        jax.jit(lambda x: jnp.tanh(x @ X) * 11)(X)
    found = clocked(log)
    assert found.total_s >= 0.1
    assert "KeyboardInterrupt ended a compilation" in found.data.notes[0]
    assert sum(part.seconds for part in found.parts) == pytest.approx(found.total_s)
    assert found.lines


@pytest.mark.parametrize("cleared", [False, True])
def test_a_reused_program_has_the_lines_of_its_trace(cleared: bool) -> None:
    with open_notebook() as notebook:
        notebook.must("import jax, jax.numpy as jnp\nx = jnp.ones((8, 8))")
        cell = "%%jaxjit --compile-time -n 1 -o r\ny = jnp.sin(x @ x)\ny.sum()"
        notebook.must(cell)
        if cleared:
            notebook.must("jax.clear_caches()")
        notebook.must(cell)
        report = notebook.names["r"]
    assert not report.compiles
    times = report.compile_time()
    assert isinstance(times, CompileTimes)
    assert {line.line for line in times.data.lines} >= {2, 3}
    assert {part.phase for part in times.parts} == {
        CompilationPhase.TRACING,
        CompilationPhase.LOWERING,
    }
    assert "XLA compiled nothing." in times.to_text()
    assert "Error" not in times.to_text()


def test_the_line_of_a_magic_is_shown_as_it_was_typed(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "x = 1\nget_ipython().run_line_magic('jaxjit', '--compile-time f(x)')\n"
    entry = (len(text), None, text.splitlines(True), "cell")
    monkeypatch.setitem(linecache.cache, "<cell of a notebook>", entry)
    lines = compile_clock._lines_of("<cell of a notebook>")
    assert lines == ["x = 1", "%jaxjit --compile-time f(x)"]
