"""What the tests of the magics listen to."""

from __future__ import annotations

from collections.abc import Iterator

import jax
import pytest

COMPILE = "/jax/core/compile/backend_compile_duration"


@pytest.fixture
def compiled() -> Iterator[list[float]]:
    """Seconds of XLA's compilations as they happen, by a listener that does not know jaxscope."""
    found: list[float] = []

    def listen(event: str, seconds: float, **_: object) -> None:
        if event == COMPILE:
            found.append(seconds)

    jax.monitoring.register_event_duration_secs_listener(listen)
    yield found
    jax.monitoring.unregister_event_duration_listener(listen)
