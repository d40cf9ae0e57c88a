"""Price of `report.passes()`, and time until the list of passes is there.

The yardstick of the price is a compilation of the same program without dumps, just before it, in no
cache either. The price is the time that a user waits; the processor time of this process and of the
one that writes the dump is beside it, as the dump is read while XLA writes it. A program of 36 000
instructions is the train step of a transformer of 62 layers: what is left to read is all that
`report.passes()` does after the compilation, the list and the pass log follow.
"""

from __future__ import annotations

import contextlib
import json
import os
import statistics
import time
from pathlib import Path
from typing import Any
from unittest import mock

import jax

from jaxscope.analysis.passes.log import pass_headings
from jaxscope.analysis.passes.pass_diff import pass_diff
from jaxscope.analysis.passes.snapshots import SnapshotReader, Snapshots
from jaxscope.capture import _jax
from jaxscope.capture.jaxpr.tags import tag
from jaxscope.capture.program import passes
from jaxscope.capture.source.sources import SourceFiles
from tests.capture.program.programs import transformer_step

BUDGET = 1.3
OPENED_S, BYTES = 2.0, 12_000_000
ROUNDS = 3
STARTED_S = 3.0
"""In which the process for the next dump has started; a large program ends that of its dump."""
LAYERS = {"7 000 instructions": 12, "36 000 instructions": 62}


Times = tuple[float, float]
"""Of the clock, and of the processor."""


def now() -> Times:
    """The time on both."""
    return time.perf_counter(), time.process_time() + _others_s()


def since(began: Times) -> Times:
    """Seconds since then on both."""
    clock, processor = now()
    return clock - began[0], processor - began[1]


def _others_s() -> float:
    """Processor seconds of the processes that this one started, also of those that ended."""
    ticks = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = path.read_text().rpartition(")")[2].split()
            if int(fields[1]) == os.getpid():
                ticks += int(fields[11]) + int(fields[12])
    ended = os.times()
    return ticks / os.sysconf("SC_CLK_TCK") + ended.children_user + ended.children_system


def measure(rounds: int = ROUNDS) -> dict[str, Any]:
    """By program: ratio to a compilation, seconds of reading, bytes kept."""
    return {name: price(layers, rounds) for name, layers in LAYERS.items()}


def price(layers: int, rounds: int) -> dict[str, Any]:
    """Of a train step with so many layers."""
    function, arguments = transformer_step(layers)
    traced = jax.jit(function).trace(*arguments)
    tag(traced, SourceFiles())  # longer texts, as in every report
    lowered = traced.lower()
    compiled = lowered.compile()
    passes.pass_dump(lowered, compiled)  # starts the process, as the question for the price does
    plain: list[Times] = []
    whole: list[Times] = []
    reading: list[float] = []
    finish = SnapshotReader.finish

    def timed(*given: Any) -> Snapshots:
        began = time.perf_counter()
        try:
            return finish(*given)
        finally:
            reading.append(time.perf_counter() - began)

    found: object = None
    for _ in range(rounds):
        time.sleep(STARTED_S)
        began = now()
        _jax.compile_apart(lowered, {})
        plain.append(since(began))
        began = now()
        with mock.patch.object(SnapshotReader, "finish", timed):
            found = passes.pass_dump(lowered, compiled)
        whole.append(since(began))
        assert isinstance(found, Snapshots), found
    assert isinstance(found, Snapshots)
    began = time.process_time()
    listed = pass_headings(found) is not None
    list_s = time.process_time() - began
    largest = max(found.passes, key=lambda one: one.added + one.removed + one.altered)
    began = time.process_time()
    pass_diff(found, largest.number)
    diff_s = time.process_time() - began
    ratio, processor_ratio = (
        statistics.median([a[i] / b[i] for a, b in zip(whole, plain, strict=True)]) for i in (0, 1)
    )
    opened = statistics.median(reading) + list_s
    size = sum(len(part) for packed in found.packed for part in packed)
    return {
        "instructions": (compiled.as_text() or "").count(" = "),
        "passes": len(found.passes),
        "plain_s": plain,
        "whole_s": whole,
        "ratio": ratio,
        "ratio_ok": ratio <= BUDGET,
        "processor_ratio": processor_ratio,
        "read_s": reading,
        "passes alone": listed,
        "list_s": list_s,
        "diff_of_the_largest_s": diff_s,
        "opened_s": opened,
        "opened_ok": opened <= OPENED_S,
        "bytes": size,
        "bytes_ok": size <= BYTES,
    }


if __name__ == "__main__":
    print(json.dumps(measure()))
