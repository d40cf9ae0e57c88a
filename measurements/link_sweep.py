"""Links of the instructions that each of some 280 primitives becomes, between other lines.

A program of three lines: a sine, the primitive, and what reads one of them; three readers. Every
instruction that computes, with an opcode that the other lines do not have, is of the primitive.
Where the primitive, compiled alone, has such an opcode too, the instruction is not judged.
"""

from __future__ import annotations

import collections
import importlib.util
import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax

from jaxscope.analysis.hlo import HloModule, parse_module
from jaxscope.analysis.links.attribution import MOVING
from jaxscope.analysis.links.dataflow import DISSOLVED
from jaxscope.model import StageKind
from measurements.primitives import PRIMITIVES
from tests.capture.program.linked import Linked, link

READERS = {
    "read by exp": ("jnp.exp(b)", "c", {"exponential"}),
    "not read": ("a.max()", "b, c", {"reduce", "maximum"}),
    "read by abs": ("jnp.abs(b) * 1.5", "c", {"abs", "multiply", "select"}),
}
"""The third line, what is returned, and the opcodes that the line becomes."""
_FIRST, _SECOND, _THIRD = 5, 6, 7


def measure(*names: str, exact: bool = False) -> dict[str, Any]:
    """Instructions by verdict, and what is wrong or not linked, by primitive.

    `exact` follows the passes of XLA, as `--exact` does.
    """
    counts: collections.Counter[str] = collections.Counter()
    problems: dict[str, dict[str, int]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in names or PRIMITIVES:
            found = primitive(PRIMITIVES[name], Path(folder), exact=exact)
            counts += found
            bad = {verdict: n for verdict, n in found.items() if not verdict.startswith("right")}
            if bad:
                problems[name] = bad
    total = counts.total()
    wrong = counts["wrong, exact"]
    return {
        "primitives": len(names or PRIMITIVES),
        "instructions": total,
        **{verdict: n / total for verdict, n in sorted(counts.items())},
        "wrong and exact": {"count": wrong, "ok": wrong == 0},
        "wrong and inferred": {
            "share": counts["wrong, inferred"] / total,
            "ok": counts["wrong, inferred"] <= 0.005 * total,
        },
        "not right": problems,
    }


def primitive(expression: str, folder: Path, *, exact: bool = False) -> collections.Counter[str]:
    """The verdicts of the instructions of one primitive, with each reader."""
    x, w = (jax.random.uniform(jax.random.key(seed), (16, 16)) for seed in (1, 2))
    alone = _compiled(folder, [f"return {expression}"], "a, w")
    own = {
        i.opcode
        for i in parse_module(jax.jit(alone).lower(x, w).compile().as_text()).instructions()
    }
    found: collections.Counter[str] = collections.Counter()
    for reader, returned, opcodes in READERS.values():
        lines = ["a = jnp.sin(x)", f"b = {expression}", f"c = {reader}", f"return {returned}"]
        linked = link(_compiled(folder, lines, "x, w"), (x, w))
        if exact:
            linked.handles.settle()
        others = dict.fromkeys(opcodes, _THIRD) | {"sine": _FIRST}
        found += verdicts(linked, lambda opcode, others=others: _truth(opcode, others, own))
    return found


def verdicts(linked: Linked, truth: Callable[[str], int | None]) -> collections.Counter[str]:
    """The links of a program's instructions, judged; `truth` gives an opcode's line, if known."""
    module = linked.handles.module()
    assert isinstance(module, HloModule)
    anchors = {
        anchor.line: anchor for anchor in linked.handles.text(StageKind.OPTIMIZED_HLO).anchors
    }
    found: collections.Counter[str] = collections.Counter()
    for instruction in module.instructions():
        line = truth(instruction.opcode)
        if line is None or instruction.opcode in MOVING | DISSOLVED:
            continue
        anchor = anchors.get(instruction.line)
        if anchor is None:
            found["not linked"] += 1
            continue
        equations = anchor.equations[:1] if anchor.exact else anchor.equations
        frames = (linked.tagged.equations[equation].frames for equation in equations)
        lines = {few[-1].span.line for few in frames if few}
        if lines == {line}:
            found["right, exact" if anchor.exact else "right, inferred"] += 1
        elif len(lines) > 1:
            found["one of several" if line in lines else "wrong, one of several"] += 1
        else:
            found["wrong, exact" if anchor.exact else "wrong, inferred"] += 1
    return found


def _truth(opcode: str, others: dict[str, int], own: set[str]) -> int | None:
    if opcode not in others:
        return _SECOND
    return None if opcode in own else others[opcode]


def _compiled(folder: Path, lines: list[str], parameters: str) -> Any:
    """The function with that body, in a file of its own."""
    path = folder / f"program_{len(list(folder.iterdir()))}.py"
    body = "".join(f"    {line}\n" for line in lines)
    head = "import jax\nimport jax.numpy as jnp\nfrom jax import lax\n"
    path.write_text(f"{head}def program({parameters}):\n{body}", "utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.program


if __name__ == "__main__":
    chosen = [name for name in sys.argv[1:] if name != "--exact"]
    json.dump(measure(*chosen, exact="--exact" in sys.argv), sys.stdout, indent=1)
