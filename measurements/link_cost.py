"""Time to build the links of 36 000 and 100 000 instructions, and to look one up.

Of 1 million, the time until a report says that it does not link them.

The yardstick is XLA's compilation of the same program: the train step of a transformer of 64 and of
176 layers. The text of 1 million instructions is that of a step with its computations repeated
under other names.

The budget is not met. What needs only the program that XLA receives is read while it compiles. The
floor beside the ratio is one pass of the parser over the text, a good quarter of the time; the
tags are taken out of the text in a sixth, and the rest is their equations, the instructions without
one, and the index of the lines.
"""

from __future__ import annotations

import dataclasses
import json
import re
import resource
import statistics
import sys
import time
from typing import Any

import jax

from jaxscope.analysis.hlo import parse_module, parsed
from jaxscope.analysis.links.line_links import source_lines, stage_lines
from jaxscope.analysis.links.tags import TAG, TAG_HEX
from jaxscope.capture.program.input_reader import InputReader
from jaxscope.capture.timing.sampling import quiet_gc
from jaxscope.model import Program, Stage, StageKind
from measurements.budget import bounded, ratio_to_median, with_floor, within_bytes
from measurements.process import printed
from tests.capture.program.linked import link
from tests.capture.program.programs import transformer_step

LAYERS = {36_000: 64, 100_000: 176}
"""Instructions, about → layers of the transformer."""
LARGEST, LARGEST_S, LARGEST_BYTES = 1_000_000, 30.0, 4_000_000_000
BUDGET = 0.06
SECONDS = {100_000: 8.0}
"""Seconds that building the links of a program of this size may take, whatever XLA takes."""
LOOKUP_S = 1e-3
LOOKUPS = 500
ROUNDS = 3


def measure(largest: int = LARGEST) -> dict[str, Any]:
    """Of the largest size the seconds and the memory of a process of its own."""
    found: dict[str, Any] = {str(size): cost(size, layers) for size, layers in LAYERS.items()}
    return {"cost": {**found, str(largest): _in_a_process(largest)}}


def cost(instructions: int, layers: int, rounds: int = ROUNDS) -> dict[str, Any]:
    """Seconds to build the links of a program of about this size, and to look them up."""
    function, arguments = transformer_step(layers)
    linked = link(function, arguments)
    raw = linked.compiled.as_text()
    xla_s = [_compile_s(function, arguments) for _ in range(rounds)]
    regions = linked.handles.regions
    regions.flow(linked.tagged.body)
    build_s: list[float] = []
    floor_s: list[float] = []
    stage = Stage(StageKind.OPTIMIZED_HLO)
    program = Program("train", ("jit",), ("cpu:0",), (), (), constants=(), equations=())
    for _ in range(rounds):
        # A different tuple, so that each round builds its index again. A cell reads the equations
        # and their flow while XLA compiles.
        equations = (*linked.tagged.equations[:-1], linked.tagged.equations[-1])
        tagged = dataclasses.replace(linked.tagged, equations=equations)
        received = InputReader(tagged, linked.handles.lowered, regions)
        received.read_ahead()
        handles = linked.with_text(raw, received)
        parsed.cache_clear()
        start = time.perf_counter()
        stage = handles.text(StageKind.OPTIMIZED_HLO)
        program = dataclasses.replace(program, equations=equations)
        stage_lines(program, stage, 1)
        build_s.append(time.perf_counter() - start)
        with quiet_gc(keeps=True):
            floor_s.append(_seconds(parse_module, stage.text))
    anchored = [anchor.line for anchor in stage.anchors]
    forward = [_seconds(stage_lines, program, stage, line) for line in range(1, LOOKUPS)]
    step = max(1, len(anchored) // LOOKUPS)
    backward = [_seconds(source_lines, program, stage, line) for line in anchored[::step]]
    return {
        "instructions": sum(1 for _ in parse_module(raw).instructions()),
        "equations": len(linked.tagged.equations),
        "build": with_floor(ratio_to_median(build_s, xla_s, BUDGET, "XLA's compilation"), floor_s),
        "seconds": bounded(statistics.median(build_s), SECONDS.get(instructions)),
        "line to instructions": _look_up(forward),
        "instruction to lines": _look_up(backward),
    }


def _compile_s(function: Any, arguments: tuple[Any, ...]) -> float:
    """Seconds of XLA, for a new function each time: JAX keeps what it has compiled."""
    lowered = jax.jit(lambda *given: function(*given)).lower(*arguments)
    start = time.perf_counter()
    lowered.compile()
    return time.perf_counter() - start


def _in_a_process(size: int) -> dict[str, Any]:
    code = (
        "import json; from measurements import link_cost; "
        f"print(json.dumps(link_cost.largest({size})))"
    )
    return printed(code)


def largest(size: int) -> dict[str, Any]:
    """Seconds until a report has such a text and says what it lacks; the memory of the process."""
    function, arguments = transformer_step()
    linked = link(function, arguments)
    raw = linked.compiled.as_text()
    once = sum(1 for _ in parse_module(raw).instructions())
    copies = max(1, round(size / once))
    handles = linked.with_text(_repeated(raw, copies))
    start = time.perf_counter()
    said = handles.doubt()
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {
        "instructions": once * copies,
        "said": said,
        "seconds": bounded(seconds, LARGEST_S),
        "memory": within_bytes(peak, LARGEST_BYTES),
    }


def _look_up(samples: list[float]) -> dict[str, Any]:
    median = statistics.median(samples)
    return {"median_s": median, "budget_s": LOOKUP_S, "ok": median <= LOOKUP_S, "samples": samples}


def _seconds(look_up: Any, *arguments: Any) -> float:
    start = time.perf_counter()
    look_up(*arguments)
    return time.perf_counter() - start


def _repeated(raw: str, copies: int) -> str:
    """The module with each computation repeated; names and tags of each copy are its own."""
    start = re.search(r"^(?:ENTRY )?%", raw, re.MULTILINE)
    assert start is not None
    heading, body = raw[: start.start()], raw[start.start() :]
    return heading + "\n".join(_copy(body, number, copies) for number in range(copies))


def _copy(body: str, number: int, copies: int) -> str:
    if number < copies - 1:
        body = body.replace("ENTRY %", "%")
    body = re.sub(r"%([\w.\-]+)", rf"%\1.copy{number}", body)
    return TAG.sub(lambda found: _other(found[0], number), body)


def _other(tag: str, number: int) -> str:
    """The tag of a copy's equation: a different hash."""
    digest = int(tag[-TAG_HEX:], 16) ^ number
    return f"{tag[:-TAG_HEX]}{digest:0{TAG_HEX}x}"


if __name__ == "__main__":
    json.dump(measure(*map(int, sys.argv[1:])), sys.stdout, indent=1)
