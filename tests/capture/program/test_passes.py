"""The compilation that dumps XLA's passes: what it leaves behind is nothing."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax._src import monitoring

import jaxscope
from jaxscope.analysis.passes import log, pass_diff
from jaxscope.analysis.passes.snapshots import Snapshots, plain
from jaxscope.capture.program import passes as module
from jaxscope.capture.program.compiled_again import dump_price
from jaxscope.capture.program.dump_process import DumpError
from jaxscope.capture.program.passes import (
    FUSION_OPTIONS,
    LLVM_OPTIONS,
    NEWER_LLVM_OPTIONS,
    NEWER_OPTIONS,
    OPTIONS,
    QUICK,
    fusion_dump,
    llvm_dump,
    pass_dump,
)
from jaxscope.model import StageKind, Unavailable
from tests.private_names import break_private

pytestmark = pytest.mark.jax


def step(x: Any, w: Any) -> Any:
    return jnp.tanh(x @ w) / 3.0


@pytest.fixture(scope="module")
def called() -> tuple[Any, Any, Any]:
    """A jitted function that has run, and its stages."""
    x = jnp.ones((8, 8))
    jitted = jax.jit(step)
    jitted(x, x)
    lowered = jitted.lower(x, x)
    return jitted, lowered, lowered.compile()


def in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a device that no second process can have."""
    break_private(monkeypatch, "portable_compile", lambda _: None)


def live() -> int:
    return len(jax.devices()[0].client.live_executables())


@pytest.mark.parametrize("apart", [True, False])
def test_nothing_is_left_behind(
    called: tuple[Any, Any, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, apart: bool
) -> None:
    jitted, lowered, compiled = called
    if not apart:
        in_this_process(monkeypatch)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    events: list[str] = []

    def heard(event: str, duration_secs: float, **kwargs: str | int) -> None:
        events.append(event)

    with jaxscope.watch() as log:
        before = live(), jitted._cache_size()
        monitoring.register_event_duration_secs_listener(heard)
        try:
            found = pass_dump(lowered, compiled)
        finally:
            monitoring.unregister_event_duration_listener(heard)
        assert isinstance(found, Snapshots), found
        assert (live(), jitted._cache_size()) == before
    assert log.compiles == ()
    assert not [name for name in events if "compile" in name]
    assert list(tmp_path.iterdir()) == []
    assert any(p.name == "algsimp" for p in found.passes)
    assert found.files > len(found.passes)
    assert found.seconds > 0


def test_the_persistent_cache_is_neither_read_nor_written(tmp_path: Path) -> None:
    from jax._src import compilation_cache

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
        lowered = jax.jit(lambda x: jnp.cos(x) / 7.0).lower(jnp.ones(8))
        compiled = lowered.compile()
        entries = sorted(tmp_path.iterdir())
        assert entries
        found = pass_dump(lowered, compiled)
        assert isinstance(found, Snapshots), found
        assert any(p.name == "algsimp" for p in found.passes)
        assert sorted(path for path in tmp_path.iterdir() if "-atime" not in path.name) == [
            path for path in entries if "-atime" not in path.name
        ]
    finally:
        for name, value in before.items():
            jax.config.update(name, value)
        compilation_cache.reset_cache()


def test_a_jax_without_these_names_gives_a_reason(
    called: tuple[Any, Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, lowered, compiled = called

    def gone(*_: Any) -> Any:
        raise AttributeError("no such name")

    break_private(monkeypatch, "portable_compile", gone)
    found = pass_dump(lowered, compiled)
    assert found == Unavailable("this JAX gave none (AttributeError: no such name)")


@pytest.mark.parametrize("apart", [True, False])
def test_an_option_that_xla_does_not_know_is_left_out(
    called: tuple[Any, Any, Any], monkeypatch: pytest.MonkeyPatch, *, apart: bool
) -> None:
    _, lowered, compiled = called
    if not apart:
        in_this_process(monkeypatch)
    unknown = {"xla_dump_nothing_of_this_name": True}
    monkeypatch.setattr(module, "NEWER_OPTIONS", unknown)
    assert isinstance(pass_dump(lowered, compiled), Snapshots)
    monkeypatch.setattr(module, "QUICK", unknown)
    assert isinstance(pass_dump(lowered, compiled), Snapshots)
    monkeypatch.setattr(module, "OPTIONS", unknown)
    found = pass_dump(lowered, compiled)
    assert isinstance(found, Unavailable)
    assert "No such compile option" in found.reason
    assert "\n" not in found.reason


@pytest.mark.parametrize("dumped", [pass_dump, llvm_dump, fusion_dump])
def test_an_error_of_xla_in_a_dump_is_one_line(
    called: tuple[Any, Any, Any], monkeypatch: pytest.MonkeyPatch, dumped: Any
) -> None:
    _, lowered, compiled = called

    text = "INTERNAL: no such thing\nand a long explanation"

    def refuse(*_: Any, **__: Any) -> Any:
        raise jax.errors.JaxRuntimeError(text)

    def refuse_there(*_: Any, **__: Any) -> Any:
        raise DumpError("JaxRuntimeError", text)

    one_line = Unavailable("this JAX gave none (JaxRuntimeError: INTERNAL: no such thing)")
    monkeypatch.setattr(module, "write_dump", refuse_there)
    assert dumped(lowered, compiled) == one_line
    in_this_process(monkeypatch)
    break_private(monkeypatch, "compile_apart", refuse)
    assert dumped(lowered, compiled) == one_line


def test_a_program_with_a_callback_and_a_library_call_has_passes_and_remarks() -> None:
    def f(x: Any) -> Any:
        factor = jnp.linalg.cholesky(x @ x.T + 9)
        return jax.pure_callback(lambda v: v, jax.ShapeDtypeStruct((8, 8), x.dtype), factor) * 2

    with jaxscope.options(runs=0):
        report = jaxscope.inspect(f, jnp.eye(8))
    passes, remarks = report.passes(), report.remarks()
    assert not isinstance(passes, Unavailable)
    assert "custom-call" in passes.after(len(passes))
    assert not isinstance(remarks, Unavailable)
    assert all(one.xla for one in remarks)


def test_no_option_is_one_on_which_xla_may_abort() -> None:
    every = (*OPTIONS, *FUSION_OPTIONS, *LLVM_OPTIONS, *NEWER_OPTIONS)
    assert not any("emitter" in name for name in every)
    assert NEWER_LLVM_OPTIONS["xla_dump_emitter_re"] == "^llvm"


def test_a_quick_dump_of_a_different_program_is_made_again(
    called: tuple[Any, Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, lowered, compiled = called
    asked: list[bool] = []
    write_dump = module.write_dump

    def note(request: Any, folder: Path, options: Any, *others: Any, **named: Any) -> None:
        asked.append("xla_backend_optimization_level" in options)
        write_dump(request, folder, options, *others, **named)

    monkeypatch.setattr(module, "write_dump", note)
    quick = {**QUICK, "xla_disable_hlo_passes": "fusion,gemv-rewriter,dot-library-rewriter,algsimp"}
    monkeypatch.setattr(module, "QUICK", quick)
    found = pass_dump(lowered, compiled)
    assert isinstance(found, Snapshots), found
    assert asked == [True, False]
    assert any(one.name == "algsimp" for one in found.passes)


def test_the_log_of_a_large_program_has_its_passes_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log, "MOST_FOLLOWED", 5)
    with jaxscope.options(runs=0):
        report = jaxscope.inspect(step, jnp.ones((8, 8)), jnp.ones((8, 8)))
    stage, passes = report.stage("passes"), report.passes()
    assert not isinstance(passes, Unavailable)
    *headings, _, rest = stage.text.split("\n")
    assert [line.split(" · ")[1] for line in headings] == [one.name for one in passes]
    assert "report.passes().follow(line)" in rest
    assert stage.anchors == ()


def test_a_pass_is_compared_line_by_line() -> None:
    with jaxscope.options(runs=0):
        report = jaxscope.inspect(step, jnp.ones((8, 8)), jnp.ones((8, 8)))
    passes = report.passes()
    assert not isinstance(passes, Unavailable)
    one = next(p for p in passes if p.name == "algsimp")
    found = passes.diff(one.number).data
    before, after = found.before.split("\n"), found.after.split("\n")
    assert (found.before, found.after) == (passes.before(one.number), passes.after(one.number))
    changed = [change for group in found.groups for change in group.changes]
    for change in changed:
        assert change.before is None or change.old in plain(before[change.before - 1])
        assert change.after is None or change.new in plain(after[change.after - 1])
    assert any("divide(" in c.old and "multiply(" in c.new for c in changed)
    # Every line that only one side has is there, once.
    for mine, others, own in ((before, after, "before"), (after, before, "after")):
        known = {plain(line) for line in others}
        only = [
            n for n, line in enumerate(mine, 1) if plain(line) not in known and line.strip("} ")
        ]
        assert sorted(n for c in changed if (n := getattr(c, own))) == only
    assert "rewritten" in passes.diff(one.number).to_text()
    with pytest.raises(IndexError, match="There is no pass 99"):
        passes.diff(99)


def test_a_long_program_is_compared_around_its_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    def chain(x: Any) -> Any:
        for _ in range(30):
            x = jnp.sin(x) + 1
        return x / 3.0

    with jaxscope.options(runs=0):
        passes = jaxscope.inspect(chain, jnp.ones(8)).passes()
    assert not isinstance(passes, Unavailable)
    number = next(p.number for p in passes if p.name == "algsimp")
    whole = passes.diff(number).data
    monkeypatch.setattr(pass_diff, "MOST_LINES", 10)
    few = passes.diff(number).data
    assert len(few.before) < len(whole.before)
    assert [g.caption for g in few.groups] == [g.caption for g in whole.groups]
    lines = few.before.split("\n")
    for change in (c for g in few.groups for c in g.changes if c.before):
        assert plain(lines[change.before - 1]) == change.old


def test_an_interrupt_leaves_no_dump_and_the_next_request_compiles(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with jaxscope.options(runs=0):
        report = jaxscope.inspect(step, jnp.ones((8, 8)), jnp.ones((8, 8)))

    def interrupt(*_: Any, **__: Any) -> Any:
        raise KeyboardInterrupt

    for request in (report.passes, report.remarks, lambda: report.stage("llvm")):
        with monkeypatch.context() as patch:
            patch.setattr(module, "write_dump", interrupt)
            with pytest.raises(KeyboardInterrupt):
                request()
    assert list(tmp_path.iterdir()) == []
    assert not isinstance(report.passes(), Unavailable)
    assert report.stage("llvm").text


def test_a_dump_that_cannot_be_written_has_a_reason(
    called: tuple[Any, Any, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    _, lowered, compiled = called
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nothing"))
    found = pass_dump(lowered, compiled)
    assert isinstance(found, Unavailable)
    assert "FileNotFoundError" in found.reason


def test_the_price_is_known_before(monkeypatch: pytest.MonkeyPatch) -> None:
    with jaxscope.options(runs=0):
        report = jaxscope.inspect(lambda x, w: step(x, w) * 5, jnp.ones((8, 8)), jnp.ones((8, 8)))
    first = sum(one.compile_s for one in report.record.compiles)
    assert first > 0
    instructions = report.stage("optimized_hlo").text.count(" = ")
    assert instructions > 3
    kinds = (StageKind.PASSES, StageKind.LLVM, StageKind.REMARKS)
    prices = {kind: report.price(kind) for kind in kinds}
    received = report.stage("stablehlo").text.count(" = ")
    assert prices == {kind: dump_price(kind, first, instructions, received) for kind in kinds}
    assert report.price("asm") == report.price("optimized_hlo") == 0
    assert report.stage("llvm").text
    assert report.price("llvm") == report.price("llvm_optimized") == 0
    assert report.price("passes") == prices[StageKind.PASSES]
    assert report.passes()
    assert report.price("passes") == 0
    with pytest.raises(ValueError, match="spirv"):
        report.price("spirv")


def test_llvm_ir_of_a_program_without_kernels_costs_nothing() -> None:
    with jaxscope.options(runs=0):
        report = jaxscope.inspect(lambda x: x @ x, jnp.ones((64, 64)))
    assert report.price("llvm") == report.price("llvm_optimized") == 0
    missing = report.stage("llvm").unavailable
    assert missing is not None
    assert "no kernel" in missing.reason
    assert report.price("passes")


def test_a_dump_is_read_while_xla_writes_it_or_after(
    called: tuple[Any, Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, lowered, compiled = called
    whole = pass_dump(lowered, compiled)
    assert isinstance(whole, Snapshots), whole
    monkeypatch.setattr(module, "_EVERY_S", 0.0001)
    followed = pass_dump(lowered, compiled)
    assert isinstance(followed, Snapshots), followed
    assert (followed.passes, followed.packed) == (whole.passes, whole.packed)

    def fail(*_: Any) -> None:
        raise OSError("gone")

    monkeypatch.setattr(module.SnapshotReader, "follow", fail)
    after = pass_dump(lowered, compiled)
    assert isinstance(after, Snapshots), after
    assert after.packed == whole.packed
