"""The end of the work that earlier code has left running, before something is timed."""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Callable
from typing import Any


def wait_for_earlier_work(
    say: Callable[[str], None] = lambda phase: None, *, dropped: bool = False
) -> None:
    """Wait for all arrays of the process, whose work would count as that of the next program.

    With `dropped`, also for results that no variable has any more: a small program is compiled for
    each device, and runs after them. `say` gets the phase of the wait, if there is one. JAX returns
    before a program has run, and a device runs its programs one after the other. An error of that
    work is raised where its result is used. With several processes nothing is awaited: after an
    interrupt, their collectives may never end.
    """
    running: list[Any] = []
    with contextlib.suppress(Exception):  # a time may be longer then, and the cell is the same
        running = _running()
    if running:
        say("waiting for earlier work")
    if dropped:
        with contextlib.suppress(Exception):
            running += _queued()
    for array in running:
        with contextlib.suppress(Exception):  # failed, or deleted since
            array.block_until_ready()


def _running() -> list[Any]:
    if not _may_wait():
        return []
    import jax

    return [array for array in jax.live_arrays() if _is_running(array)]


def _queued() -> list[Any]:
    """A result of each device that comes after all that it was given before."""
    if not _may_wait():
        return []
    import jax

    from jaxscope.capture.compiles.listener import own_work

    with own_work():
        return [_last()(jax.device_put(0, device)) for device in jax.local_devices()]


@functools.cache
def _last() -> Any:
    import jax

    def last(number: Any) -> Any:
        return number + 1

    return jax.jit(last)


def _may_wait() -> bool:
    if "jax" not in sys.modules:
        return False
    import jax

    from jaxscope.capture import _jax

    return _jax.backends_started() and jax.process_count() == 1


def _is_running(array: Any) -> bool:
    try:
        return not array.is_ready()
    except Exception:  # deleted since
        return False
