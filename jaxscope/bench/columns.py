"""The columns that are measured apart from the rounds: dispatch, kernel, memory, and the floor."""

from __future__ import annotations

import itertools
from dataclasses import replace

from jaxscope.bench.prepare import Ready, said
from jaxscope.model import Unavailable

_DISPATCH_CALLS = 51
_DISPATCH_S = 0.1
_FLOOR_CALLS = 200
_FLOOR_BLOCKS = 7


def measure_columns(ready: Ready) -> None:
    """Fills in the row; what fails becomes an `Unavailable`."""
    row, subject = ready.row, ready.subject
    dispatch = _dispatch(ready)
    try:
        kernel = ready.contestant.kernel_s(ready.call, subject.estimate, row.device)
    except Exception as error:
        kernel = Unavailable(f"the profiler pass failed ({said(error)})")
    peak = ready.prepared.peak_bytes
    if peak is None:
        try:
            peak = ready.contestant.peak_bytes(ready.call, row.device)
        except Exception as error:
            peak = Unavailable(f"the memory pass failed ({said(error)})")
    ready.row = replace(row, dispatch=dispatch, kernel_s=kernel, peak_bytes=peak)


def floor_s(ready: Ready) -> float:
    """What the harness itself takes for a call: an empty function, and the wait for a result that
    is there. The least of several blocks, because load only adds."""
    now, wait, outputs = ready.subject.signals.now, ready.waiting, ready.outputs
    if any(getattr(leaf, "is_deleted", bool)() for leaf in ready.contestant.leaves(outputs)):
        return 0.0

    def nothing() -> object:
        return outputs

    least = float("inf")
    for _ in range(_FLOOR_BLOCKS):
        again = itertools.repeat((), _FLOOR_CALLS)
        start = now()
        if wait is None:
            for args in again:
                nothing(*args)
        else:
            for args in again:
                wait(nothing(*args))
        least = min(least, now() - start)
    return least / _FLOOR_CALLS


def _dispatch(ready: Ready) -> tuple[float, ...]:
    """Seconds until a call returns; nothing where a call returns with its results."""
    subject, wait, call = ready.subject, ready.waiting, ready.prepared.call
    if wait is None:
        return ()
    now, samples = subject.signals.now, list[float]()
    end = now() + _DISPATCH_S
    while len(samples) < _DISPATCH_CALLS and now() < end:
        (args,) = subject.batch(1)
        start = now()
        outputs = call(*args)
        samples.append(now() - start)
        wait(outputs)
    return tuple(samples)
