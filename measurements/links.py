"""How much of each program is linked, and what links cost.

`python -m measurements.links` prints JSON.

Budgets: at 36 000 instructions built in 3 s, at 100 000 in 8 s, looked up in
1 ms. No link that is called exact may contradict the stack frames that XLA kept.
"""

from __future__ import annotations

import dataclasses
import json
import os
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from jaxscope.analysis.hlo import parse_module
from jaxscope.analysis.links.anchors import Candidates, Locator, hlo_anchors
from jaxscope.analysis.links.line_links import source_lines, stage_lines
from jaxscope.analysis.links.tags import TAG, TAG_HEX, TagPaths, clean_hlo
from jaxscope.model import Equation, Program, Stage, StageKind

PROGRAMS = Path(__file__).parents[1] / "tests" / "capture"
SIZES = {36_000: 3.0, 100_000: 8.0}
"""Instructions, and the seconds in which their links are to be built."""
LOOKUP_S = 1e-3
LOOKUPS = 500
ROUNDS = 3
SHARDED = "shard_map over 4 devices"


def measure() -> dict[str, Any]:
    """The table of programs, and the seconds to build links and to look them up."""
    return {
        "programs": {**programs(), SHARDED: _sharded()},
        "cost": {str(size): cost(size, budget_s) for size, budget_s in SIZES.items()},
    }


def programs() -> dict[str, dict[str, Any]]:
    """Per named program: real instructions, shares linked exactly and inexactly, wrong links."""
    sys.path.insert(0, str(PROGRAMS))
    from linked import link  # type: ignore[import-not-found]
    from programs import PROGRAMS as named  # type: ignore[import-not-found]

    table = {name: row(link(*build())) for name, build in named.items()}
    total = sum(entry["instructions"] for entry in table.values())
    exact = sum(entry["exact"] * entry["instructions"] for entry in table.values())
    table["all of the above"] = {"instructions": total, "exact": exact / total}
    return table


def row(linked: Any) -> dict[str, Any]:
    """One program's line of the table."""
    exact, inexact, total = linked.share
    return {
        "instructions": total,
        "exact": exact / total,
        "inexact": inexact / total,
        "unlinked": (total - exact - inexact) / total,
        "wrong": len(linked.wrong()),
        "ok": not linked.wrong(),
    }


def _sharded() -> dict[str, Any]:
    """Devices are simulated, which has to be asked for before JAX starts."""
    code = (
        "import json; from linked import link; from programs import sharded; "
        "from measurements.links import row; print(json.dumps(row(link(*sharded()))))"
    )
    paths = [str(PROGRAMS), str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    environment = {
        **os.environ,
        "JAX_PLATFORMS": "cpu",
        "XLA_FLAGS": "--xla_force_host_platform_device_count=4",
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
    }
    run = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    return json.loads(run.stdout.strip().splitlines()[-1])


def cost(instructions: int, budget_s: float) -> dict[str, Any]:
    """Seconds to build the links of a program of about so many instructions, and to look them up.

    The program is the 12-layer training step, its computations and equations repeated under other
    names: a real compile of 100 000 instructions would take minutes.
    """
    sys.path.insert(0, str(PROGRAMS))
    from linked import link  # type: ignore[import-not-found]
    from programs import transformer_step  # type: ignore[import-not-found]

    linked = link(*transformer_step())
    raw = linked.compiled.as_text()
    once = sum(1 for _ in parse_module(raw).instructions())
    copies = max(1, round(instructions / once))
    text = _repeated(raw, copies)
    equations, tag_paths = _repeated_equations(linked.tagged, copies)
    build_s: list[float] = []
    stage = Stage(StageKind.OPTIMIZED_HLO)
    program = Program("train", ("jit",), ("cpu:0",), (), (), constants=(), equations=())
    for _ in range(ROUNDS):
        start = time.perf_counter()
        shown, origin = clean_hlo(text)
        module = parse_module(text)
        locator = Locator(TagPaths(tag_paths), Candidates(equations), "")
        lines = {line: number for number, line in enumerate(origin, 1)}
        stage = Stage(StageKind.OPTIMIZED_HLO, shown, None, hlo_anchors(module, locator, lines))
        program = dataclasses.replace(program, equations=equations)
        stage_lines(program, stage, 1)
        build_s.append(time.perf_counter() - start)
        # Another tuple object, so that the next round builds its index anew.
        equations = (*equations[:-1], equations[-1])
    anchored = [anchor.line for anchor in stage.anchors]
    forward = [_seconds(stage_lines, program, stage, line) for line in range(1, LOOKUPS)]
    step = max(1, len(anchored) // LOOKUPS)
    backward = [_seconds(source_lines, program, stage, line) for line in anchored[::step]]
    return {
        "instructions": sum(1 for _ in parse_module(text).instructions()),
        "equations": len(equations),
        "build": _within(statistics.median(build_s), budget_s, build_s),
        "line to instructions": _within(statistics.median(forward), LOOKUP_S, forward),
        "instruction to lines": _within(statistics.median(backward), LOOKUP_S, backward),
    }


def _within(seconds: float, budget_s: float, samples: list[float]) -> dict[str, Any]:
    ok = seconds <= budget_s
    return {"median_s": seconds, "budget_s": budget_s, "ok": ok, "samples": samples}


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
    """The tag of a copy's equation: another hash."""
    digest = int(tag[-TAG_HEX:], 16) ^ number
    return f"{tag[:-TAG_HEX]}{digest:0{TAG_HEX}x}"


def _repeated_equations(
    tagged: Any, copies: int
) -> tuple[tuple[Equation, ...], list[tuple[str, ...]]]:
    by_id: dict[int, tuple[str, ...]] = {}
    for chain, ids in tagged.tag_paths.items():
        by_id.update(dict.fromkeys(ids, chain))
    size = len(tagged.equations)
    equations: list[Equation] = []
    tag_paths: list[tuple[str, ...]] = []
    for number in range(copies):
        for equation in tagged.equations:
            parent = None if equation.parent is None else equation.parent + number * size
            moved = dataclasses.replace(equation, id=equation.id + number * size, parent=parent)
            equations.append(moved)
            tag_paths.append(tuple(_other(tag, number) for tag in by_id[equation.id]))
    return tuple(equations), tag_paths


if __name__ == "__main__":
    print(json.dumps(measure(), indent=2))
