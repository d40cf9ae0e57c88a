"""Price of `report.passes()`, and time until the list of passes is there.

The yardstick of the price is a compilation of the same program without dumps, just before it, in no
cache either. Both are in processor time of all threads, which other work on the machine disturbs
least. A program of 36 000 instructions is the train step of a transformer of 62 layers:
reading is all that `report.passes()` does after the compilation, the list and the pass log follow.
"""

from __future__ import annotations

import json
import statistics
import time
from typing import Any
from unittest import mock

import jax

from jaxscope.analysis.passes.log import pass_headings
from jaxscope.analysis.passes.pass_diff import pass_diff
from jaxscope.analysis.passes.snapshots import Snapshots
from jaxscope.capture import _jax
from jaxscope.capture.jaxpr.tags import tag
from jaxscope.capture.program import passes
from jaxscope.capture.source.sources import SourceFiles
from tests.capture.program.programs import transformer_step

BUDGET = 1.3
OPENED_S, BYTES = 2.0, 12_000_000
ROUNDS = 3
LAYERS = {"7 000 instructions": 12, "36 000 instructions": 62}


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
    plain: list[float] = []
    whole: list[float] = []
    reading: list[float] = []
    snapshots = passes.snapshots

    def timed(*given: Any) -> Snapshots:
        began = time.process_time()
        try:
            return snapshots(*given)
        finally:
            reading.append(time.process_time() - began)

    found: object = None
    for _ in range(rounds):
        began = time.process_time()
        _jax.compile_apart(lowered, {})
        plain.append(time.process_time() - began)
        began = time.process_time()
        with mock.patch.object(passes, "snapshots", timed):
            found = passes.pass_dump(lowered, compiled)
        whole.append(time.process_time() - began)
        assert isinstance(found, Snapshots), found
    assert isinstance(found, Snapshots)
    began = time.process_time()
    listed = pass_headings(found) is not None
    list_s = time.process_time() - began
    largest = max(found.passes, key=lambda one: one.added + one.removed + one.altered)
    began = time.process_time()
    pass_diff(found, largest.number)
    diff_s = time.process_time() - began
    ratio = statistics.median([a / b for a, b in zip(whole, plain, strict=True)])
    opened = statistics.median(reading) + list_s
    size = sum(len(part) for packed in found.packed for part in packed)
    return {
        "instructions": compiled.as_text().count(" = "),
        "passes": len(found.passes),
        "plain_s": plain,
        "whole_s": whole,
        "ratio": ratio,
        "ratio_ok": ratio <= BUDGET,
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
