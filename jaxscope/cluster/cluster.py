"""A cluster as the notebook sees it; what runs on the engines is in `capture/cluster/`."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from jaxscope.analysis.cluster.runs import MergedRuns, joined, merged, said, spans
from jaxscope.analysis.cluster.status import in_order, state_groups
from jaxscope.analysis.cluster.waits import Waits
from jaxscope.capture.cluster import process
from jaxscope.capture.cluster.process import BeforeInit, ClusterError
from jaxscope.capture.cluster.watch import GUARD_S, GUARDS
from jaxscope.cluster import engine_bench, engine_cell, mesh_bench
from jaxscope.cluster.engine_cell import EngineCell
from jaxscope.cluster.engine_set import EngineSet
from jaxscope.model import Record, from_json
from jaxscope.model.cluster import ProcessRun, ProcessSetup, ProcessTrace
from jaxscope.results.cluster import ClusterStatus, Preflight
from jaxscope.results.cluster_run import ClusterBench, ClusterMeshBench, ClusterRun
from jaxscope.results.cluster_waits import ClusterWaits
from jaxscope.results.report import Report
from jaxscope.words import listed

GATHERED_FROM = 64
"""With so many engines their answers come through the key-value store, merged by one of them: the
replies alone would take 3 ms each."""
_REACH_S = 5.0
_ANSWER_S = 30.0
_FIRST_S = 120.0
_STATUS_S = 2.0
_MOST_REPORTS = 8
"""Whole reports that are sent: one for each set of programs."""


def _silent(text: str) -> None: ...


class Cluster:
    """The processes of one JAX program."""

    def __init__(self, engines: EngineSet) -> None:
        self._engines = engines
        self._address = ""
        self._able = False
        """Whether the engines were seen to have jaxscope."""
        self._status = uuid.uuid4().hex[:8]
        """The name of its states in the store: those of a process that was late go with the next
        request."""

    def __len__(self) -> int:
        return len(self._engines)

    def init(
        self,
        *,
        devices_per_process: int | None = None,
        guard: str = "warn",
        timeout_s: int = 60,
    ) -> Preflight:
        """Call `jax.distributed.initialize` on every engine, and compare their setups.

        devices_per_process simulates so many CPU devices on each. From then on every compilation
        that spans processes is compared; see `guard`.

        Raises ClusterError where JAX already runs, jaxscope is missing, versions of jax differ, an
        engine cannot reach the coordinator, or does not arrive within `timeout_s`.
        """
        _check(guard)
        number = len(self._engines)
        # The first call of jaxscope, whose import can take long where disks are cold.
        found: list[BeforeInit] = self._all(process.before_init, wait_s=_FIRST_S)
        _refuse_different([one.versions for one in found])
        early = [engine for engine, one in enumerate(found) if one.started]
        if early:
            raise ClusterError(
                f"JAX has already started on {_engines(early).lower()}: %jaxcluster restart, then "
                "%jaxcluster init before any other use of JAX."
            )
        host = "127.0.0.1" if len({one.host for one in found}) == 1 else found[0].host
        self._address = self._engines.call(process.offer, [(host,)], 10)[0]
        self._refuse_unreachable()
        more = (devices_per_process, timeout_s, self._gather())
        joined = self._engines.call(
            process.join,
            [(self._address, number, engine, *more) for engine in range(number)],
            timeout_s + 10,
        )
        late = [i for i, found in enumerate(joined) if found is None]
        if late:
            raise ClusterError(
                f"{_engines(late)} did not connect to the coordinator at {self._address} within "
                f"{timeout_s} s: %jaxcluster restart, then try again."
            )
        self.guard(guard)
        setups = [one for one in joined if isinstance(one, ProcessSetup)]
        return Preflight(setups, None if setups else next(filter(None, joined), ()))

    def _gather(self) -> str:
        """A name under which the engines merge their answers; empty for few engines."""
        return uuid.uuid4().hex[:8] if len(self) >= GATHERED_FROM else ""

    def guard(self, mode: str, *, wait_s: float = GUARD_S) -> None:
        """Set what a divergence does: `off`, `warn` prints it, `on` raises it on every process.

        With `on`, a compilation waits `wait_s` for the other processes.
        """
        _check(mode)
        self._all(process.set_guard, mode, wait_s, uuid.uuid4().hex[:8])

    def status(self) -> ClusterStatus:
        """The state of every process; an engine that runs a cell does not answer, and is busy."""
        if not self._able:
            self._refuse_lacking(_STATUS_S)
        store = (self._status, request) if (request := self._gather()) else None
        given = [(engine, store) for engine in range(len(self))]
        found = dict(enumerate(self._engines.call(process.state, given, _STATUS_S)))
        busy = [engine for engine, state in found.items() if state is None]
        states = [state for state in found.values() if isinstance(state, dict)]
        storing = [engine for engine, state in found.items() if state is True]
        if not storing:
            return ClusterStatus(states, busy)
        merged = self._engines.run(process.states, {storing[0]: (store,)}, _silent)[storing[0]]
        return ClusterStatus((), busy, in_order((*merged, *state_groups(states))))

    def run_cell(
        self, text: str, say: Callable[[str], None] = _silent, head: str = ""
    ) -> ClusterRun:
        """Run a cell on every engine at once, and join the reports of `%%jaxjit` or `%%jaxprof`.

        Such a cell must bind its report to `engine_cell.RESULT`; `head` replaces its first line
        there. An error of the cell is a fact of its process. Raises ClusterError for an engine that
        died.
        """
        self._refuse_lacking()
        gather = self._gather()
        cell = EngineCell.of(text)
        given = {engine: (engine, cell, gather) for engine in range(len(self))}
        found = self._engines.run(engine_cell.run_cell, given, say).values()
        runs = [run for run in found if isinstance(run, ProcessRun)]
        whole = next((run for run in found if isinstance(run, MergedRuns)), merged(runs))
        reports: dict[int, Report] = {}
        for lead in whole.leads[:_MOST_REPORTS]:
            sent = self._engines.run(engine_cell.last_record, {lead: ()}, say)[lead]
            reports[lead] = Report(_headed(from_json(Record, sent), text, head))
        return ClusterRun(runs, reports, whole=whole)

    def bench(
        self, text: str, names: Sequence[str], say: Callable[[str], None] = _silent
    ) -> ClusterBench:
        """Run a `%%jaxbench` cell on each engine alone: hosts at once, engines of a host in turn.

        `names` are those that the cell reads. Raises ClusterError where one of them spans
        processes, and for an engine that died.
        """
        self._refuse_lacking()
        given = self._all(engine_bench.before_bench, tuple(names))
        return engine_bench.bench(self._engines, text, given, self._gather(), say)

    def bench_mesh(
        self,
        code: Mapping[str, str],
        setup: str = "",
        *,
        time_limit: float | None = None,
        say: Callable[[str], None] = _silent,
    ) -> ClusterMeshBench:
        """Time the code of each label over the devices of all processes, after the set-up.

        Every process makes the same calls. Raises ClusterError where the code failed on any, and
        for an engine that died.
        """
        self._refuse_lacking()
        return mesh_bench.mesh_bench(self._engines, setup, code, time_limit, say)

    def profile(self, text: str, say: Callable[[str], None] = _silent) -> ClusterWaits:
        """Run a cell once on every engine under the profiler, and join its collectives.

        An error of the cell is a fact of its process. Raises ClusterError before `init`, for a
        busy profiler, and for an engine that died.
        """
        from jaxscope.cluster import engine_profile  # it imports jax

        self._refuse_lacking()
        name, number = uuid.uuid4().hex[:8], len(self)
        more = (EngineCell.of(text), name, number >= GATHERED_FROM)
        given = {engine: (engine, *more) for engine in range(number)}
        answers = [
            one
            for one in self._engines.run(engine_profile.profile_cell, given, say).values()
            if one is not None
        ]
        errors = joined([one.errors for one in answers])
        traces = [one.trace for one in answers]
        return ClusterWaits(
            [trace for trace in traces if isinstance(trace, ProcessTrace)],
            {engine: error for error, engines in errors.items() for engine in engines},
            next((trace for trace in traces if isinstance(trace, Waits)), None),
            joined([one.printed for one in answers]),
        )

    def restart(self) -> None:
        """Restart every engine, which ends hangs; all names on them are lost. Then `init`."""
        self._able = False
        self._engines.restart()
        self.activate()

    def activate(self) -> None:
        """Make ipyparallel's `%%px` run on all engines, and wait for them."""
        self._engines.activate()

    def _importing(self, wait_s: float) -> list[bool | None]:
        """Whether each engine can import jaxscope; None for one that is busy."""
        probe = "all(__import__('importlib.util').util.find_spec(n) for n in ('jaxscope', 'jax'))"
        return self._engines.call(eval, [(probe,)] * len(self._engines), wait_s)

    def _refuse_lacking(self, wait_s: float = _ANSWER_S) -> None:
        """Before a function of jaxscope is sent, which ends a worker of Dask that has none."""
        self._engines.check()
        if self._able:
            return
        found = self._importing(wait_s)
        lacking = [i for i, has in enumerate(found) if has is False]
        if lacking:
            raise ClusterError(
                f"{_engines(lacking)} cannot import jaxscope and jax: install them there."
            )
        self._able = all(found)

    def _refuse_unreachable(self) -> None:
        """Before JAX tries it, which aborts the engines."""
        reasons = self._all(process.reach, self._address, _REACH_S)
        late = [i for i, reason in enumerate(reasons) if reason]
        if late:
            raise ClusterError(
                f"{_engines(late)} cannot reach the coordinator at {self._address} "
                f"({reasons[late[0]]}): a firewall may be between the hosts, or the name of the "
                "host is not known there. No engine was changed."
            )

    def _all(self, function: Any, *arguments: Any, wait_s: float = _ANSWER_S) -> list[Any]:
        self._refuse_lacking()
        if not self._able:  # one answers nothing: there is no import to wait for
            wait_s = _ANSWER_S
        found = self._engines.call(function, [arguments] * len(self._engines), wait_s)
        busy = [i for i, value in enumerate(found) if value is None and function not in _SILENT]
        if busy:
            raise ClusterError(
                f"{_engines(busy)} did not answer within {wait_s:.0f} s. Where a cell runs there, "
                "wait for it; otherwise %jaxcluster restart."
            )
        return found


_SILENT = (process.set_guard,)
"""Functions without a result."""


def _headed(record: Record, text: str, head: str) -> Record:
    """The record with the first line of its cell as the user typed it."""
    first = text.partition("\n")[0]
    sources = [
        replace(source, text=head + source.text.removeprefix(first))
        if head and source.text.startswith(first)
        else source
        for source in record.sources
    ]
    return replace(record, sources=tuple(sources))


def _refuse_different(versions: Sequence[str]) -> None:
    found = said(enumerate(versions))
    if len(found) > 1:
        texts = [f"{version} on {_engines(who).lower()}" for version, who in found.items()]
        raise ClusterError(
            f"The engines have different versions of JAX: {listed(texts, 8)}. Install the same one "
            "everywhere."
        )


def _check(guard: str) -> None:
    if guard not in GUARDS:
        raise ClusterError(f"The guard is {listed(GUARDS, last='or')}, not {guard!r}.")


def died(engines: Sequence[int]) -> str:
    """The sentence on engines that are gone."""
    return f"{_engines(engines)} died: %jaxcluster restart, then %jaxcluster init."


def _engines(numbers: Sequence[int]) -> str:
    found = spans(numbers)
    return f"Engine {found}" if len(numbers) == 1 else f"Engines {found}"
