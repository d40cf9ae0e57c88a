"""Engines that merge their answers in the key-value store, against the answers one by one.

The engines are calls in this process, each as a process of its own number, in any order.
"""

from __future__ import annotations

import random
import time
import tracemalloc
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxscope import words
from jaxscope.capture._jax.distributed import Service
from jaxscope.capture.cluster import gather, process
from jaxscope.cluster import Cluster, cluster, engine_bench
from jaxscope.model.cluster import ProcessSetup
from jaxscope.model.comparison import Rounds
from jaxscope.results.comparison import Comparison
from tests.analysis.cluster.test_agreement import HERE, ROW, record
from tests.capture.cluster.test_exchange import MemoryStore

READY = process.BeforeInit("0.10.2 with jaxlib 0.10.2", False, "a")


class SimulatedEngines:
    """So many engines; `answers` are those of the calls that are not made, by engine."""

    def __init__(
        self,
        number: int,
        answers: Mapping[Any, Callable[..., Any]],
        busy: Sequence[int] = (),
        seed: int = 0,
    ) -> None:
        self.number, self.answers, self.busy = number, answers, busy
        self.random = random.Random(seed)
        self.store = MemoryStore()
        self.here = 0
        self.replies: list[Any] = []
        self.kept: dict[int, list[Any]] = {}

    def __len__(self) -> int:
        return self.number

    def call(self, function: Any, arguments: Sequence[tuple[Any, ...]], wait_s: float) -> list[Any]:
        asked = dict(enumerate(arguments))
        found = self._all(function, {e: one for e, one in asked.items() if e not in self.busy})
        return [found.get(engine) for engine in asked]

    def run(
        self, function: Any, arguments: Mapping[int, tuple[Any, ...]], say: Callable[[str], None]
    ) -> dict[int, Any]:
        return self._all(function, arguments)

    def _all(self, function: Any, arguments: Mapping[int, tuple[Any, ...]]) -> dict[int, Any]:
        found: dict[int, Any] = {}
        for engine in self.random.sample(sorted(arguments), len(arguments)):
            self.here = engine
            engine_bench._last[:] = self.kept.get(engine, [])
            found[engine] = self.answers.get(function, function)(*arguments[engine])
            self.kept[engine] = list(engine_bench._last)
            self.replies.append(found[engine])
        return found

    def check(self) -> None: ...
    def restart(self) -> None: ...
    def activate(self) -> None: ...


@contextmanager
def connected(engines: SimulatedEngines, gathered_from: int) -> Iterator[Cluster]:
    """A cluster of them whose processes have a store in common."""

    def service() -> Service:
        return Service(engines.store, engines.here, len(engines))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gather.distributed, "coordination_service", service)
        patch.setattr(gather, "JaxStore", lambda store: store)
        patch.setattr(cluster, "GATHERED_FROM", gathered_from)
        yield Cluster(engines)


def both(made: Callable[[], SimulatedEngines], ask: Callable[[Cluster], Any]) -> tuple[Any, Any]:
    """The result one by one, and the merged one."""
    found: list[Any] = []
    for gathered_from in (10_000, 1):
        engines = made()
        with connected(engines, gathered_from) as one:
            found.append(ask(one))
        assert engines.store.values == {}
    return found[0], found[1]


def shown(found: Any) -> str:
    return found.to_text(width=400)


def init(setups: Sequence[ProcessSetup]) -> dict[Any, Callable[..., Any]]:
    return {
        eval: lambda _: True,
        process.before_init: lambda: READY,
        process.offer: lambda _: "a:1",
        process.reach: lambda *_: "",
        process.set_guard: lambda *_: None,
        process.join: lambda _a, _n, engine, _d, _t, name: process.setup_or_facts(
            setups[engine], name
        ),
    }


FEW = st.sampled_from(["a", "b", "c"])
SETUPS = st.lists(
    st.builds(
        lambda facts, settings, own: (tuple(facts.items()), tuple(settings.items()), own),
        st.dictionaries(st.sampled_from(["jax", "devices", "XLA_FLAGS"]), FEW),
        st.dictionaries(st.sampled_from(["x64", "nans"]), FEW),
        st.tuples(st.tuples(st.just("host"), FEW)),
    ),
    min_size=1,
    max_size=40,
)


@settings(deadline=None)
@given(tables=SETUPS, seed=st.integers(0, 99))
def test_the_merged_preflight_table_is_that_of_all_setups(tables: list[Any], seed: int) -> None:
    setups = [ProcessSetup(engine, *table) for engine, table in enumerate(tables)]
    single, merged = both(
        lambda: SimulatedEngines(len(setups), init(setups), seed=seed), lambda one: one.init()
    )
    assert (merged.setups, single.setups) == ((), tuple(setups))
    assert merged.facts == single.facts
    assert shown(merged) == shown(single)
    for fact in merged.facts:
        values = [
            dict((*one.facts, *one.settings, *one.own)).get(fact.name, words.UNKNOWN)
            for one in setups
        ]
        assert list(dict(sorted(fact.by_process.items())).values()) == values
    for name in ("x64", "nans"):
        known = {dict(setup.settings).get(name) for setup in setups}
        assert (name in merged.differences) == (len(known) > 1)


STATES = st.lists(
    st.one_of(
        st.just({"watching": False}),
        st.fixed_dictionaries(
            {
                "watching": st.just(True),
                "guard": st.sampled_from(["warn", "on"]),
                "compared": st.integers(0, 2),
                "divergences": st.lists(FEW, max_size=4),
                "most operations": st.just(4),
                "seconds": st.sampled_from([0.1, 0.2]),
                "poisoned": st.booleans(),
            }
        ),
    ),
    min_size=1,
    max_size=40,
)


@settings(deadline=None)
@given(states=STATES, data=st.data(), seed=st.integers(0, 99))
def test_the_merged_status_is_that_of_all_states(states: list[Any], data: Any, seed: int) -> None:
    busy = sorted(data.draw(st.sets(st.sampled_from(range(len(states))))))

    def state(engine: int, store: Any) -> Any:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(process, "_state", lambda engine: states[engine] | {"process": engine})
            return REAL_STATE(engine, store)

    def engines() -> SimulatedEngines:
        answers = {eval: lambda _: True, process.state: state}
        return SimulatedEngines(len(states), answers, busy, seed)

    single, merged = both(engines, lambda one: one.status())
    assert single.busy == merged.busy == tuple(busy)
    assert shown(merged) == shown(single)
    assert {p: g.state for g in merged.groups for p in g.processes} == {
        engine: "not initialized"
        if not one["watching"]
        else "poisoned"
        if one["poisoned"]
        else "ready"
        for engine, one in enumerate(states)
        if engine not in busy
    }


REAL_STATE = process.state
BENCHES = st.lists(
    st.tuples(
        st.sampled_from(["", "ValueError: no"]),
        st.sampled_from([(), (1e-3,), (2e-3, 3e-3)]),
        st.sampled_from(["abc", "abc", "def"]),
        st.sampled_from([2.0, 2.0, 2.5]),
        st.sampled_from(["h1", "h2"]),
    ),
    min_size=1,
    max_size=40,
)


def bench_engines(cells: Sequence[Any], seed: int) -> tuple[SimulatedEngines, Any]:
    def before(_: Any) -> engine_bench.BeforeBench:
        host = cells[engines.here][-1]
        return engine_bench.BeforeBench(host, host, ())

    def executed(_: str) -> Any:
        error, seconds, program, norm, _host = cells[engines.here]
        rounds = (Rounds(seconds),) if seconds else ()
        failure = "" if seconds else "It raised."
        row = replace(ROW, processes=rounds, program=program, norms=(norm,), failure=failure)
        return (None if error else Comparison(record(row, HERE))), "", error

    answers = {eval: lambda _: True, engine_bench.before_bench: before}
    engines = SimulatedEngines(len(cells), answers, seed=seed)
    return engines, executed


@settings(deadline=None)
@given(cells=BENCHES, seed=st.integers(0, 99))
def test_the_merged_benchmark_is_that_of_all_comparisons(cells: list[Any], seed: int) -> None:
    def ask(one: Cluster) -> Any:
        with pytest.MonkeyPatch.context() as patch:
            engines: Any = one._engines
            patch.setattr(engine_bench, "executed", engines.executed)
            here = lambda: cells[engines.here][-1]  # noqa: E731
            patch.setattr(engine_bench.socket, "gethostname", here)
            return one.bench("", ())

    def made() -> SimulatedEngines:
        engines, executed = bench_engines(cells, seed)
        engines.executed = executed  # pyright: ignore[reportAttributeAccessIssue]
        return engines

    single, merged = both(made, ask)
    assert single.merged.leads == merged.merged.leads
    assert single.errors == merged.errors
    assert single.unranked == merged.unranked
    assert shown(merged) == shown(single)
    assert all(single.comparisons[p].record == c.record for p, c in merged.comparisons.items())
    assert list(merged.comparisons) == sorted(single.merged.leads[:8])
    measured = {engine: one for engine, one in enumerate(cells) if not one[0] and one[1]}
    agree = len({one[2:4] for one in measured.values()}) == 1
    if any(not one[0] for one in cells):
        assert (merged.unranked == {}) == (len(measured) > 1 and agree)


def test_of_a_thousand_engines_the_odd_one_is_found_and_one_answer_comes() -> None:
    same = tuple((f"jax_setting_{i}", "False") for i in range(60))
    setups = [
        ProcessSetup(
            engine,
            (("jax", "0.10.2"), ("XLA_FLAGS", "--fast" if engine == 617 else "")),
            same,
            (("host", f"h{engine // 8}"), ("process id", str(engine))),
        )
        for engine in range(1000)
    ]
    engines = SimulatedEngines(1000, init(setups))
    tracemalloc.start()
    try:
        with connected(engines, cluster.GATHERED_FROM) as one:
            found = one.init()
            began = time.thread_time()
            shown(found)
            took = time.thread_time() - began
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert "999 of 1000 same · different: XLA_FLAGS" in found.summary()
    assert "≠ process 617: --fast" in shown(found)
    assert sum(isinstance(reply, tuple) and bool(reply) for reply in engines.replies) == 1001
    assert len(found.static_html().encode()) < 50_000
    assert took < 2  # of this thread alone, whatever else the machine does
    assert peak < 100e6


def test_a_state_that_came_too_late_goes_with_the_next_request() -> None:
    def state(engine: int, store: Any) -> Any:
        mine = {"watching": True, "poisoned": False, "guard": "warn", "compared": 1}
        with pytest.MonkeyPatch.context() as patch:
            more = {"divergences": [], "seconds": 0.1, "process": engine}
            patch.setattr(process, "_state", lambda _: mine | more)
            return REAL_STATE(engine, store)

    engines = SimulatedEngines(3, {eval: lambda _: True, process.state: state}, busy=[2])
    with connected(engines, 1) as one:
        assert one.status().busy == (2,)
        engines.here = 2
        state(2, (one._status, "before"))
        found = one.status()
    assert [group.processes for group in found.groups] == [(0, 1)]
    assert engines.store.values == {}
