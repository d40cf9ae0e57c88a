"""Cost of comparing compilations over processes: two real ones, and 64 and 1000 simulated ones.

The two run on the CPU, with two simulated devices each. The 64 are threads on one coordination
service; of the 1000 only the summaries exist.
"""

from __future__ import annotations

import json
import os
import socket
import statistics
import subprocess
import sys
import threading
import time
import tracemalloc
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from jaxscope.capture.cluster.exchange import REMOVE_S
from measurements.budget import bounded, difference, ratio, within_bytes

SMALL_S, SHARE, OPERATIONS = 5e-3, 0.05, 5
_MERGE_S, _MERGE_BYTES, _PAGE_BYTES = 1.0, 100_000_000, 50_000
_SMALL, _LONG, _LAYERS, _CALLS = 40, 21, 60, 1000
_MANY, _PROGRAMS, _ODD = 1000, 64, 617
_LIFE_S = 240


def measure() -> dict[str, Any]:
    """The slower of the two processes counts.

    `thread` is the time of the user's thread, by the watch's own clock; `wall` is that from the
    call to its result and to the end of all comparisons, beside the same with the guard off.
    """
    command = [sys.executable, "-m", "measurements.cluster_overhead", _free_address()]
    started = [
        subprocess.Popen([*command, str(rank)], stdout=subprocess.PIPE, text=True)
        for rank in (0, 1)
    ]
    texts = [process.communicate(timeout=_LIFE_S)[0] for process in started]
    found = [json.loads(text.splitlines()[-1]) for text in texts]
    small = [statistics.median(one["small"]) for one in found]
    slow = max(found, key=lambda one: statistics.median(one["long"]))
    late = max(found, key=lambda one: statistics.median(_more(one["small_wall"])))
    latest = max(found, key=lambda one: statistics.median(_more(one["long_wall"])))
    with_guard, without = late["small_wall"]
    long_with, long_without = latest["long_wall"]
    return {
        "cached call": {
            **bounded(max(one["cached_compared"] for one in found), 0),
            "listener_s": max(one["cached_s"] for one in found),
            "calls": _CALLS,
        },
        "small compilation, thread": {
            **bounded(max(small), SMALL_S),
            "compile_s": statistics.median(found[0]["small_compile"]),
            "samples": [one["small"] for one in found],
        },
        "small compilation, wall": difference(with_guard, without, SMALL_S, "guard off"),
        "long compilation, thread": ratio(slow["long"], slow["long_compile"], SHARE, "XLA"),
        "long compilation, wall": ratio(long_with, long_without, 1 + SHARE, "guard off"),
        "operations per compilation": bounded(max(one["operations"] for one in found), OPERATIONS),
        "keys left": bounded(max(one["keys"] for one in found), 0),
        "64 simulated processes": many_exchanges(64),
        f"{_MANY} simulated processes": many_reports(),
    }


def _more(walls: Sequence[Sequence[float]]) -> list[float]:
    return [on - off for on, off in zip(*walls, strict=True)]


def process(address: str, rank: int) -> dict[str, Any]:
    """The costs on one of the two processes, from the watch's own clock and counters."""
    import jax
    import numpy as np
    from jax import monitoring
    from jax.sharding import NamedSharding, PartitionSpec

    from jaxscope.capture._jax import distributed
    from jaxscope.capture.cluster import process as cluster

    cluster.join(address, 2, rank, 2, 60)
    watch = cluster._watch[0]
    took: list[float] = []

    def listen(event: str, seconds: float, **_: Any) -> None:
        if event == "/jax/core/compile/backend_compile_duration":
            took.append(seconds)

    sharding = NamedSharding(jax.make_mesh((4,), ("d",)), PartitionSpec("d"))
    x = jax.make_array_from_callback((8, 8), sharding, lambda i: np.ones((8, 8), "f")[i])

    def compiled(layers: int, number: int) -> tuple[float, float, float]:
        def f(x: Any) -> Any:
            for layer in range(layers):
                x = jax.numpy.sin(x) * (layer + number + 2)
            return x.sum()

        before, count, began = watch.seconds, len(took), time.perf_counter()
        float(jax.jit(f)(x))
        watch.settle()
        wall = time.perf_counter() - began
        return watch.seconds - before, sum(took[count:]), wall

    def pairs(layers: int, number: int) -> dict[str, Any]:
        """Compilations with and without the watch; the first of a pair alternates."""
        found: dict[str, list[tuple[float, float, float]]] = {"warn": [], "off": []}
        for n in range(number):
            for mode in ("warn", "off") if n % 2 else ("off", "warn"):
                watch.mode = mode
                found[mode].append(compiled(layers, n))
        watch.mode = "warn"
        ours, theirs, wall = zip(*found["warn"], strict=True)
        return {"ours": ours, "xla": theirs, "wall": (wall, [one[2] for one in found["off"]])}

    compiled(1, -1)  # connects the transport
    monitoring.register_event_duration_secs_listener(listen)
    small, long = pairs(1, _SMALL), pairs(_LAYERS, _LONG)
    cached = jax.jit(lambda x: x + 1)
    cached(x).block_until_ready()
    watch.settle()
    before, seconds = watch.compared, watch.seconds
    for _ in range(_CALLS):
        cached(x).block_until_ready()
    cached_compared, cached_s = watch.compared - before, watch.seconds - seconds
    time.sleep(REMOVE_S + 0.5)
    distributed.meet("measured", 30)
    service = distributed.coordination_service()
    assert service is not None
    keys = service.client.key_value_dir_get(f"jaxscope/{watch.epoch}/")
    distributed.meet("read", 30)
    return {
        "small": small["ours"],
        "small_compile": small["xla"],
        "small_wall": small["wall"],
        "long": long["ours"],
        "long_compile": long["xla"],
        "long_wall": long["wall"],
        "cached_compared": cached_compared,
        "cached_s": cached_s,
        "operations": watch.most_operations,
        "keys": len(keys),
    }


def _free_address() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{free.getsockname()[1]}"


def many_exchanges(processes: int) -> dict[str, Any]:
    """One compilation with the guard on, on so many threads of one coordination service."""
    import jax

    from jaxscope.analysis.cluster.divergence import print_of
    from jaxscope.analysis.cluster.runs import merged
    from jaxscope.capture._jax import distributed
    from jaxscope.capture.cluster.exchange import Exchange
    from jaxscope.capture.cluster.gather import gathered
    from jaxscope.capture.cluster.store import JaxStore
    from jaxscope.model.cluster import CodePlace, CompiledPrint, ProcessProgram, ProcessRun

    jax.distributed.initialize(_free_address(), 1, 0)
    service = distributed.coordination_service()
    assert service is not None
    place = CodePlace("train.py:1")

    def one(process: int) -> tuple[int, float]:
        store = JaxStore(service.client)
        exchange = Exchange(store, "measured/0", processes)
        mine = print_of("module @jit_f {\n}", process, place, "")
        together.wait(30)
        began = time.perf_counter()
        exchange.start(mine)
        exchange.wait(mine, 20, lambda: ())
        exchange.compiled(CompiledPrint(process, place, "", ()), 20)
        took = time.perf_counter() - began
        together.wait(30)
        if exchange.finished:
            exchange.remove()
        return store.operations, took

    def merge(process: int) -> float:
        programs = tuple(
            ProcessProgram(f"f{n}", fingerprint=f"{n:08x}", compile_s=0.1) for n in range(_PROGRAMS)
        )
        run = ProcessRun(process, f"host{process // 8}", programs)
        together.wait(30)
        began = time.perf_counter()
        runs = gathered(JaxStore(service.client), "all", process, processes, run)
        if runs:
            merged(runs)
        return time.perf_counter() - began

    together = threading.Barrier(processes)
    with ThreadPoolExecutor(processes) as threads:
        found = list(threads.map(one, range(processes)))
        merging = max(threads.map(merge, range(processes)))
    keys = service.client.key_value_dir_get("measured/")
    return {
        "operations": bounded(max(count for count, _ in found), OPERATIONS),
        "keys left": bounded(len(keys), 0),
        "slowest": {"median_s": max(seconds for _, seconds in found)},
        "answers merged by the last": {"median_s": merging},
    }


def many_reports() -> dict[str, Any]:
    """The summaries of processes of which one has a different program, merged and drawn."""
    from jaxscope.model.cluster import ProcessProgram, ProcessRun
    from jaxscope.results.cluster_run import ClusterRun

    def program(process: int, number: int) -> ProcessProgram:
        odd = process == _ODD and number == 10
        return ProcessProgram(
            f"f{number}",
            f"train.py:{number}",
            fingerprint="deadbeef" if odd else f"{number:08x}",
            compile_s=0.1 + (process * 37 % 101) / 1000,
        )

    runs = [
        ProcessRun(i, f"host{i // 8}", tuple(program(i, n) for n in range(_PROGRAMS)))
        for i in range(_MANY)
    ]
    began = time.perf_counter()
    merged = ClusterRun(runs)
    odd = [group for group in merged.programs if not group.everywhere]
    html = merged.static_html()
    seconds = time.perf_counter() - began
    tracemalloc.start()
    ClusterRun(runs).static_html()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    named = any(group.processes == (_ODD,) for group in odd)
    return {
        "merge and draw": bounded(seconds, _MERGE_S),
        "memory": within_bytes(peak, _MERGE_BYTES),
        "page": within_bytes(len(html.encode()), _PAGE_BYTES),
        "deviant found": {"ok": named},
    }


if __name__ == "__main__":
    if len(sys.argv) > 1:
        watchdog = threading.Timer(_LIFE_S, os._exit, (1,))
        watchdog.daemon = True
        watchdog.start()
        print(json.dumps(process(sys.argv[1], int(sys.argv[2]))), flush=True)
    else:
        json.dump(measure(), sys.stdout, indent=1)
