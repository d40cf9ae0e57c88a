"""The columns that are measured apart from the rounds: dispatch, device time, memory, overhead."""

from __future__ import annotations

import itertools
from dataclasses import replace

from jaxscope.bench.cell.timed_code import describe_error
from jaxscope.bench.prepare import Ready
from jaxscope.capture.timing.sampling import seconds_of
from jaxscope.model import Unavailable

_DISPATCH_CALLS = 51
_DISPATCH_S = 0.1
_OVERHEAD_CALLS = 200
_OVERHEAD_BLOCKS = 7


def measure_columns(ready: Ready) -> None:
    """Fill in the row; a pass that fails becomes an `Unavailable`."""
    row, subject = ready.row, ready.subject
    dispatch = _dispatch(ready)
    try:
        device_s = ready.implementation.device_s(ready.call, subject.estimate, row.device)
    except Exception as error:
        device_s = Unavailable(f"the profiler pass failed ({describe_error(error)})")
    peak = ready.prepared.peak_bytes
    if peak is None:
        try:
            peak = ready.implementation.peak_bytes(ready.call, row.device)
        except Exception as error:
            peak = Unavailable(f"the memory pass failed ({describe_error(error)})")
    ready.row = replace(row, dispatch=dispatch, device_s=device_s, peak_bytes=peak)


def overhead_s(ready: Ready) -> float:
    """Seconds per call of the harness itself: an empty function, and the wait for a finished
    result. The minimum of several blocks, because load only adds."""
    now, wait, outputs = ready.subject.signals.now, ready.waiting, ready.outputs
    if any(getattr(leaf, "is_deleted", bool)() for leaf in ready.implementation.leaves(outputs)):
        return 0.0
    blocks = [
        seconds_of(lambda: outputs, wait, now, itertools.repeat((), _OVERHEAD_CALLS))
        for _ in range(_OVERHEAD_BLOCKS)
    ]
    return min(blocks) / _OVERHEAD_CALLS


def _dispatch(ready: Ready) -> tuple[float, ...]:
    """Seconds until a call returns; empty for synchronous calls."""
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
        subject.counter.returned()
        wait(outputs)
    return tuple(samples)
