"""`%%jaxbench --engines all`: a benchmark on each engine alone, the engines of a host in turn."""

from __future__ import annotations

import contextlib
import io
import socket
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from jaxscope.analysis.cluster.agreement import BenchPlace, MergedBench, merged_bench, places, slim
from jaxscope.capture.cluster import lifetime
from jaxscope.capture.cluster.gather import gathered_here
from jaxscope.capture.cluster.process import ClusterError
from jaxscope.capture.source.cell_names import current_shell
from jaxscope.cluster.engine_cell import EngineCell, executed
from jaxscope.cluster.engine_set import EngineSet
from jaxscope.model import from_json, to_json
from jaxscope.model.comparison import ComparisonRecord
from jaxscope.results.cluster_run import ClusterBench
from jaxscope.results.comparison import Comparison
from jaxscope.words import listed

_MOST_COMPARISONS = 8
"""Whole comparisons that are sent where the engines merge them: one for each set of programs."""
_last: list[Comparison] = []


class BeforeBench(NamedTuple):
    """The facts of an engine on which the order of a benchmark depends."""

    host: str
    host_key: str
    """Equal for engines that share a machine."""
    shared: tuple[str, ...]
    """Names whose arrays span processes, so that no engine can use them alone."""


class BenchCell(NamedTuple):
    """A benchmark on one engine, small enough to send from a thousand of them."""

    process: int
    host: str
    rows: tuple[BenchPlace, ...]
    error: str


def bench(
    engines: EngineSet,
    text: str,
    given: Sequence[BeforeBench],
    gather: str,
    say: Callable[[str], None],
) -> ClusterBench:
    """Run a `%%jaxbench` cell on each engine alone: hosts at once, engines of a host in turn.

    With a name to gather under, the last engine answers for all. Raises ClusterError where a name
    spans processes, and for an engine that died.
    """
    shared = sorted({name for one in given for name in one.shared})
    if shared:
        raise ClusterError(
            f"{listed([f'`{name}`' for name in shared], 3)} spans processes, but each engine "
            "runs a benchmark alone: use an array of one process, such as "
            f"`{shared[0]}.addressable_data(0)`."
        )
    cell = EngineCell.of(text)
    hosts: dict[str, list[int]] = defaultdict(list)
    for engine, one in enumerate(given):
        hosts[one.host_key].append(engine)
    found: dict[int, Any] = {}
    while any(hosts.values()):
        turn = [waiting.pop(0) for waiting in hosts.values() if waiting]
        cells = {engine: (engine, cell, gather) for engine in turn}
        found |= engines.run(bench_cell, cells, say)
    whole = next((one for one in found.values() if isinstance(one, MergedBench)), None)
    if whole is not None:
        leads = whole.leads[:_MOST_COMPARISONS]
        sent = {one: engines.run(last_comparison, {one: ()}, say)[one] for one in leads}
        return ClusterBench(_records(sent), {}, {}, whole)
    return ClusterBench(
        _records({e: record for e, (record, _) in found.items() if record is not None}),
        {engine: error for engine, (_, error) in found.items() if error},
        {engine: one.host for engine, one in enumerate(given)},
    )


def _records(sent: dict[int, Any]) -> dict[int, ComparisonRecord]:
    return {engine: from_json(ComparisonRecord, one) for engine, one in sorted(sent.items())}


def before_bench(names: tuple[str, ...]) -> BeforeBench:
    """The facts of this engine; `names` are those that the cell reads."""
    import jax

    shell = current_shell()
    space: dict[str, Any] = {} if shell is None else shell.user_ns
    found: list[str] = []
    for name in names:
        with contextlib.suppress(Exception):  # not a pytree
            leaves = jax.tree_util.tree_leaves(space.get(name))
            arrays = [leaf for leaf in leaves if isinstance(leaf, jax.Array)]
            if any(not array.is_fully_addressable for array in arrays):
                found.append(name)
    return BeforeBench(socket.gethostname(), lifetime.host_key(), tuple(found))


def bench_cell(process: int, cell: EngineCell, gather: str) -> tuple[Any, str] | MergedBench | None:
    """Run a `%%jaxbench` cell: its comparison as JSON data, and its error.

    To gather, the last engine answers for all, and the others with None; the comparison stays
    here until `last_comparison` sends it.
    """
    with contextlib.redirect_stdout(io.StringIO()):  # the bar of the progress
        found, _, error = executed(cell)
    _last[:] = [found] if isinstance(found, Comparison) else []
    host = socket.gethostname()
    rows = tuple(slim(one) for kept in _last for one in places(process, host, kept.record))
    cells = gathered_here(gather, BenchCell(process, host, rows, error)) if gather else None
    if cells is None:
        return (last_comparison() if _last else None), error
    return merged_cells(cells) if cells else None


def merged_cells(cells: Sequence[BenchCell]) -> MergedBench:
    """The benchmarks of all engines as one."""
    rows = [row for one in cells for row in one.rows]
    errors = {one.process: one.error for one in cells if one.error}
    return merged_bench(rows, errors, {one.process: one.host for one in cells})


def last_comparison() -> Any:
    """The comparison of the last cell as JSON data."""
    return to_json(_last[0].record)
