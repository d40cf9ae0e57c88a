"""Links and figures of some 55 whole programs: plain JAX, Flax, Haiku, Equinox and Optax.

An opcode that one line alone has in the program that XLA receives, and that the compiled program
has, must be on that line there; arithmetic that XLA rewrites into other arithmetic is not judged
where the line computes something else instead, nor is padding that a compiler gives a convolution.
FLOPs, bytes and live memory of the lines and the unattributed ones must add up to the program's, to
the last unit; times to 1 %.
"""

from __future__ import annotations

import collections
import json
import math
import sys
from collections.abc import Callable, Collection, Iterator
from typing import Any

import jax
import jax.numpy as jnp

import jaxscope
from jaxscope.analysis.hlo import HloModule, parse_module
from jaxscope.analysis.links.attribution import MOVING
from jaxscope.analysis.links.dataflow import DISSOLVED
from jaxscope.analysis.links.line_figures import (
    defining_lines,
    figures,
    stage_of,
    unattributed,
)
from jaxscope.analysis.links.tallies import candidates
from jaxscope.model import Cost, Memory, Program, StageKind
from jaxscope.model.profile import BufferTimeline, Profile
from measurements.programs_frameworks import BUILDERS
from measurements.programs_plain import PROGRAMS

_NOT_JUDGED = MOVING | DISSOLVED | {"while", "conditional", "custom-call"}
_REWRITTEN = frozenset({
    "add", "subtract", "multiply", "divide", "negate", "and", "or", "not", "compare", "select",
    "maximum", "minimum",
})  # fmt: skip
_APPLYING = frozenset({"reduce", "reduce-window", "sort", "scatter", "select-and-scatter", "map"})


def measure(*names: str) -> dict[str, Any]:
    """Per program: its instructions by degree, opcodes that left their line, and the sums."""
    table = {
        name: judged(inspected(f, args)) | measured(profiled(f, args))
        for name, f, args in programs(names)
    }
    kept = sum(row["opcodes kept"] for row in table.values())
    alone = sum(row["opcodes alone"] for row in table.values())
    total = sum(row["instructions"] for row in table.values())
    whole: dict[str, Any] = {"programs": len(table), "instructions": total}
    for degree in ("exact", "inferred", "one of several", "unlinked"):
        whole[degree] = sum(row[degree] for row in table.values()) / total
    return {
        "all": whole,
        "opcodes of one line": {"alone": alone, "kept": kept, "ok": kept == alone},
        "sums": {
            what: {
                "programs": sum(row[what] for row in table.values()),
                "ok": all(row[what] for row in table.values()),
            }
            for what in ("adds up", "adds up in time", "adds up in memory")
        },
        "each": table,
    }


def programs(names: Collection[str] = ()) -> Iterator[tuple[str, Callable[..., Any], Any]]:
    """The name, function and arguments of each program whose framework is installed."""
    for name, (function, shapes) in PROGRAMS.items():
        if not names or name in names:
            keys = jax.random.split(jax.random.key(0), len(shapes))
            arrays = [jax.random.uniform(k, s) for k, s in zip(keys, shapes, strict=True)]
            yield name, function, tuple(arrays)
    for builder in BUILDERS:
        if not names or builder.__name__ in names:
            try:
                made = builder()
            except ImportError:
                continue
            yield builder.__name__, *made


def inspected(function: Callable[..., Any], args: tuple[Any, ...]) -> Program:
    """The program with all its texts, not run."""
    with jaxscope.options(runs=0):
        report = jaxscope.inspect(function, *args).complete()
    return report.programs[0]


def profiled(function: Callable[..., Any], args: tuple[Any, ...]) -> Program:
    """The program with its time and memory by line."""
    return jaxscope.profile(function, *args).programs[0]


def measured(program: Program) -> dict[str, Any]:
    """The row of one profiled program."""
    return {
        "adds up in time": adds_up_in_time(program),
        "adds up in memory": adds_up_in_memory(program),
    }


def judged(program: Program) -> dict[str, Any]:
    """The row of one program."""
    received = _lines(program, StageKind.HLO)
    compiled = _lines(program, StageKind.OPTIMIZED_HLO)
    computing = {line for lines in compiled.values() for line in lines}
    alone = {
        opcode: next(iter(lines))
        for opcode, lines in received.items()
        if len(lines) == 1 and None not in lines and opcode in compiled
    }
    lost = {
        opcode: f"line {line}, now {sorted(map(str, compiled[opcode]))}"
        for opcode, line in alone.items()
        if line not in compiled[opcode]
        and not (opcode in _REWRITTEN and line in computing)
        and not (opcode == "pad" and compiled[opcode] <= received.get("convolution", set()))
    }
    stage = stage_of(program, StageKind.OPTIMIZED_HLO)
    assert stage is not None
    module, home = parse_module(stage.text), defining_lines(program)
    anchors = {anchor.line: anchor for anchor in stage.anchors}
    degrees: collections.Counter[str] = collections.Counter(
        dict.fromkeys(("exact", "inferred", "one of several"), 0)
    )
    for instruction in _computing(module):
        anchor = anchors.get(instruction.line)
        if anchor is None:
            degrees["unlinked"] += 1
        elif len({home.get(e) for e in candidates(instruction, anchor)}) > 1:
            degrees["one of several"] += 1
        else:
            degrees["exact" if anchor.exact else "inferred"] += 1
    return {
        "instructions": degrees.total(),
        **{d: degrees[d] for d in ("exact", "inferred", "one of several", "unlinked")},
        "opcodes alone": len(alone),
        "opcodes kept": len(alone) - len(lost),
        "adds up": adds_up(program),
        **({"lost": lost} if lost else {}),
    }


def adds_up(program: Program) -> bool:
    """Whether lines and unattributed are the program's FLOPs and bytes, to the last unit."""
    rest, cost = unattributed(program), program.cost
    if rest is None or not isinstance(cost, Cost):
        return False
    lines = figures(program).values()
    return all(
        round(sum(amounts) + part.unattributed) == round(part.total) == round(whole)
        for amounts, part, whole in (
            ([row.flops or 0 for row in lines], rest.flops, cost.flops),
            ([row.bytes or 0 for row in lines], rest.bytes, cost.bytes_accessed),
        )
    )


def adds_up_in_time(program: Program) -> bool:
    """Whether the lines of each source and the unattributed time are the time in instructions.

    A profile has the unattributed time of the source of which it is least; to 1 %.
    """
    found = program.profile
    if not isinstance(found, Profile) or not found.covered_s > 0:
        return False
    by_source = collections.defaultdict[int, float](float)
    for line in found.lines:
        by_source[line.place.source] += line.seconds
    rest = found.covered_s - max(by_source.values(), default=0.0)
    return math.isclose(rest, found.unattributed_s, abs_tol=0.01 * found.covered_s)


def adds_up_in_memory(program: Program) -> bool:
    """Whether the buffers by line and the unattributed ones are XLA's own peak of temporaries."""
    plan, memory = program.buffers, program.memory
    if not isinstance(plan, BufferTimeline) or not isinstance(memory, Memory):
        return False
    by_line = collections.Counter[Any]()
    for buffer in plan.alive:
        by_line[buffer.place] += buffer.bytes
    constants = plan.static - (memory.argument + memory.output - memory.alias)
    return sum(by_line.values()) == plan.peak_temp <= plan.temp == memory.temp and constants >= 0


def _computing(module: HloModule) -> Iterator[Any]:
    applied = {
        called for i in module.instructions() if i.opcode in _APPLYING for called in i.called
    }
    for instruction in module.instructions():
        if instruction.opcode not in _NOT_JUDGED and instruction.computation not in applied:
            yield instruction


def _lines(program: Program, kind: StageKind) -> dict[str, set[int | None]]:
    """The lines that each opcode is on, or may be on."""
    stage = stage_of(program, kind)
    assert stage is not None
    anchors, home = {anchor.line: anchor for anchor in stage.anchors}, defining_lines(program)
    found: dict[str, set[int | None]] = {}
    for instruction in _computing(parse_module(stage.text)):
        anchor = anchors.get(instruction.line)
        of = () if anchor is None else candidates(instruction, anchor)
        found.setdefault(instruction.opcode, set()).update({home.get(e) for e in of} or {None})
    return found


if __name__ == "__main__":
    jnp.zeros(1)
    json.dump(measure(*sys.argv[1:]), sys.stdout, indent=1)
