"""For every test: the CPU only, no compilation cache on disk, and nothing left behind."""

from __future__ import annotations

import builtins
import gc
import itertools
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# Before jax is imported. `make gpu` sets its own platform.
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.pop("JAX_COMPILATION_CACHE_DIR", None)

import pytest

# jsonschema would read a grammar for formats that our schemas do not have: a second per process.
sys.modules.setdefault("rfc3987_syntax", None)  # pyright: ignore[reportArgumentType]

CONFIGURED = ("jax_enable_x64", "jax_default_device", "jax_disable_jit")
LISTENERS = ("_event", "_event_duration_secs", "_scalar", "_event_time_span")


def installed() -> dict[str, Any]:
    """What jaxscope may change while it works and must put back, as it is now."""
    state: dict[str, Any] = {
        "builtins.print": builtins.print,
        "sys.displayhook": sys.displayhook,
        "sys.gettrace()": sys.gettrace(),
        "sys.getprofile()": sys.getprofile(),
    }
    if "jax" in sys.modules:
        import jax
        import jax._src.monitoring as monitoring

        for name in LISTENERS:
            state[f"{name} listeners of jax.monitoring"] = tuple(
                getattr(monitoring, f"{name}_listeners", ())
            )
        state |= {f"jax.config.{name}": getattr(jax.config, name) for name in CONFIGURED}
    return state


def left_behind(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """What is no longer as it was. A test that imported jax has nothing to compare it with."""
    return [name for name, value in before.items() if after[name] != value]


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Under `-m "not jax"`, do not import a module whose tests are all marked: that may compile."""
    if collection_path.suffix != ".py" or "not jax" not in config.option.markexpr:
        return None
    return "\npytestmark = pytest.mark.jax\n" in collection_path.read_text("utf-8") or None


_LONGEST = ("package", "notebook", "page", "browser")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest first: they wait for other processes, while the other workers run the rest."""
    items.sort(
        key=lambda item: next(
            (place for place, mark in enumerate(_LONGEST) if item.get_closest_marker(mark)),
            len(_LONGEST),
        )
    )


_TESTS = itertools.count()


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Keep what earlier tests left from every full collection: they took a fourth of the time."""
    if next(_TESTS) % 25 == 0:
        gc.collect()
        gc.freeze()


@pytest.fixture(autouse=True)
def nothing_is_left_behind() -> Iterator[None]:
    before = installed()
    yield
    changed = left_behind(before, installed())
    assert not changed, f"The test left these changed: {', '.join(changed)}."


@pytest.fixture(autouse=True)
def nothing_found_by_the_canary() -> Iterator[None]:
    """What the canary did not see while a test broke JAX is not said in the next test."""
    yield
    canary = sys.modules.get("jaxscope.capture.compiles.canary")
    if canary is not None and any(canary._found):
        canary.forget()
