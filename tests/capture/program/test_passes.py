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
from jaxscope.capture.program import passes as module
from jaxscope.capture.program.passes import NEWER_OPTIONS, OPTIONS, Dump, dump
from jaxscope.model import Unavailable
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


def live() -> int:
    return len(jax.devices()[0].client.live_executables())


def test_nothing_is_left_behind(
    called: tuple[Any, Any, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jitted, lowered, compiled = called
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    events: list[str] = []

    def heard(event: str, duration_secs: float, **kwargs: str | int) -> None:
        events.append(event)

    with jaxscope.watch() as log:
        before = live(), jitted._cache_size()
        monitoring.register_event_duration_secs_listener(heard)
        try:
            found = dump(lowered, compiled)
        finally:
            monitoring.unregister_event_duration_listener(heard)
        assert isinstance(found, Dump), found
        assert (live(), jitted._cache_size()) == before
    assert log.compiles == ()
    assert not [name for name in events if "compile" in name]
    assert list(tmp_path.iterdir()) == []
    assert any(p.name == "algsimp" for p in found.passes.passes)
    assert found.passes.files > len(found.passes.passes)
    assert found.passes.seconds > 0


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
        found = dump(lowered, compiled)
        assert isinstance(found, Dump), found
        assert any(p.name == "algsimp" for p in found.passes.passes)
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

    break_private(monkeypatch, "compile_apart", gone)
    found = dump(lowered, compiled)
    assert found == Unavailable("this JAX gave none (AttributeError: no such name)")


def test_an_option_that_xla_does_not_know_is_left_out(
    called: tuple[Any, Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, lowered, compiled = called
    monkeypatch.setattr(module, "NEWER_OPTIONS", {"xla_dump_nothing_of_this_name": True})
    assert isinstance(dump(lowered, compiled), Dump)


def test_no_option_is_one_on_which_xla_may_abort() -> None:
    assert not any("emitter" in name for name in OPTIONS)
    assert NEWER_OPTIONS["xla_dump_emitter_re"] == "^llvm"
