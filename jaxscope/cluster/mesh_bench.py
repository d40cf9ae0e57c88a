"""`%%jaxbench --engines all --global`: sections of a cell timed over one mesh.

Every process makes the same calls: their number is decided once, from a trial on all of them, since
a process that made one more would wait for the others forever.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from jaxscope.analysis.cluster.mesh import MeshRow
from jaxscope.analysis.python.cell import CellSyntax
from jaxscope.capture.cluster.process import ClusterError
from jaxscope.cluster import engine_cell
from jaxscope.cluster.engine_set import EngineSet
from jaxscope.model.cluster import MeshCalls
from jaxscope.results.cluster_run import ClusterMeshBench

_VALUE = "_jaxscope_value"
_TRIAL, _FEWEST, _MOST, _TURNS = 3, 4, 200, 4
"""Calls of the trial, and per turn; the order of the sections alternates between turns."""
_SECONDS = 10.0


def mesh_bench(
    engines: EngineSet,
    setup: str,
    code: Mapping[str, str],
    time_limit: float | None,
    say: Callable[[str], None],
) -> ClusterMeshBench:
    """Time the code of each label on all engines at once, after the set-up.

    Raises ClusterError where one failed on any process.
    """
    if setup.strip():
        _run(engines, engine_cell.run_cell, setup, say)
    texts = {label: _assigned(text) for label, text in code.items()}
    budget = (time_limit or _SECONDS) / len(texts) / _TURNS
    trials: dict[str, dict[int, MeshCalls]] = {}
    norms: dict[str, tuple[float, ...]] = {}
    for label, text in texts.items():
        trials[label] = _run(engines, engine_cell.mesh_cell, text, say, _TRIAL)
        names = CellSyntax(ast.parse(text)).bound
        given = dict.fromkeys(range(len(engines)), (names,))
        norms[label] = engines.run(engine_cell.norms_of, given, say)[0]
    samples = {label: {p: list[float]() for p in trial} for label, trial in trials.items()}
    for turn in range(_TURNS):
        for label in reversed(texts) if turn % 2 else texts:
            calls = _count(trials[label], budget)
            found = _run(engines, engine_cell.mesh_cell, texts[label], say, calls)
            for process, one in found.items():
                samples[label][process] += one.samples
    rows = [
        MeshRow(
            label,
            tuple(replace(one, samples=tuple(samples[label][p])) for p, one in trial.items()),
        )
        for label, trial in trials.items()
    ]
    return ClusterMeshBench(rows, norms)


def _assigned(text: str) -> str:
    """The code with its last expression bound to a name."""
    try:
        last = CellSyntax(ast.parse(text)).last
    except SyntaxError as error:
        raise ClusterError(f"SyntaxError: {error.msg} (line {error.lineno}).") from None
    if last is None:
        return text
    lines = text.encode().splitlines(keepends=True)
    lines[last.lineno - 1 :] = [
        lines[last.lineno - 1][: last.col_offset],
        f"{_VALUE} = (".encode(),
        lines[last.lineno - 1][last.col_offset :],
        *lines[last.lineno :],
        b"\n)",
    ]
    return b"".join(lines).decode()


def _count(trial: Mapping[int, MeshCalls], budget: float) -> int:
    """Calls per turn that fit into the time, by the fastest call of the slowest process."""
    slowest = max(min(one.samples, default=0.0) for one in trial.values())
    return max(_FEWEST, min(_MOST, int(budget / slowest) if slowest > 0 else _MOST))


def _run(
    engines: EngineSet, function: Any, text: str, say: Callable[[str], None], *more: Any
) -> dict[int, Any]:
    cell = engine_cell.EngineCell.of(text)
    given = {engine: (engine, cell, *more) for engine in range(len(engines))}
    found = engines.run(function, given, say)
    for one in found.values():
        if one.error:
            raise ClusterError(f"The cell failed on process {one.process}: {one.error}.")
    return dict(sorted(found.items()))
