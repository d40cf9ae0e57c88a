"""The end of the work that earlier code has left running, before something is timed."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from typing import Any


def wait_for_earlier_work(say: Callable[[str], None] = lambda phase: None) -> None:
    """Wait for all arrays of the process, whose work would count as that of the next program.

    `say` gets the phase of the wait, if there is one. JAX returns before a program has run, and a
    device runs its programs one after the other. An error of that work is raised where its result
    is used. With several processes nothing is awaited: after an interrupt, their collectives may
    never end.
    """
    running: list[Any] = []
    with contextlib.suppress(Exception):  # a time may be longer then, and the cell is the same
        running = _running()
    if not running:
        return
    say("waiting for earlier work")
    for array in running:
        with contextlib.suppress(Exception):  # failed, or deleted since
            array.block_until_ready()


def _running() -> list[Any]:
    if "jax" not in sys.modules:
        return []
    import jax

    from jaxscope.capture import _jax

    if not _jax.backends_started() or jax.process_count() > 1:
        return []
    return [array for array in jax.live_arrays() if _is_running(array)]


def _is_running(array: Any) -> bool:
    try:
        return not array.is_ready()
    except Exception:  # deleted since
        return False
