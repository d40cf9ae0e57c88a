"""Cost of comparing compilations over processes: two real ones, and 64 and 1000 simulated ones.

The two run on the CPU, with two simulated devices each. The 64 are threads on one coordination
service; of the 1000 only the summaries exist.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import threading
import time
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from measurements.budget import bounded, ratio, within_bytes

SMALL_S, SHARE, OPERATIONS = 5e-3, 0.05, 5
_MERGE_S, _MERGE_BYTES, _PAGE_BYTES = 1.0, 100_000_000, 50_000
_SMALL, _LONG, _LAYERS, _CALLS = 30, 9, 60, 1000
_MANY, _PROGRAMS, _ODD = 1000, 64, 617
_LIFE_S = 240


def measure() -> dict[str, Any]:
    """The slower of the two processes counts."""
    from jaxscope.capture.cluster.process import free_address

    command = [sys.executable, "-m", "measurements.cluster_overhead", free_address("127.0.0.1")]
    started = [
        subprocess.Popen([*command, str(rank)], stdout=subprocess.PIPE, text=True)
        for rank in (0, 1)
    ]
    texts = [process.communicate(timeout=_LIFE_S)[0] for process in started]
    found = [json.loads(text.splitlines()[-1]) for text in texts]
    small = [statistics.median(one["small"]) for one in found]
    slow = max(found, key=lambda one: statistics.median(one["long"]))
    return {
        "cached call": {
            **bounded(max(one["cached_operations"] for one in found), 0),
            "listener_s": max(one["cached_s"] for one in found),
            "calls": _CALLS,
        },
        "small compilation": {
            **bounded(max(small), SMALL_S),
            "compile_s": statistics.median(found[0]["small_compile"]),
            "samples": [one["small"] for one in found],
        },
        "long compilation": ratio(slow["long"], slow["long_compile"], SHARE, "XLA"),
        "operations per compilation": bounded(max(one["operations"] for one in found), OPERATIONS),
        # The schedule of the last compilation, where the first to end wrote it after the last.
        "keys left": bounded(max(one["keys"] for one in found), 1),
        "64 simulated processes": many_exchanges(64),
        f"{_MANY} simulated processes": many_reports(),
    }


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

    def compiled(layers: int, number: int) -> tuple[float, float]:
        def f(x: Any) -> Any:
            for layer in range(layers):
                x = jax.numpy.sin(x) * (layer + number + 2)
            return x.sum()

        before, count = watch.seconds, len(took)
        float(jax.jit(f)(x))
        return watch.seconds - before, sum(took[count:])

    compiled(1, -1)  # connects the transport
    monitoring.register_event_duration_secs_listener(listen)
    small = [compiled(1, n) for n in range(_SMALL)]
    long = [compiled(_LAYERS, n) for n in range(_LONG)]
    cached = jax.jit(lambda x: x + 1)
    cached(x).block_until_ready()
    before, seconds = watch._store.operations, watch.seconds
    for _ in range(_CALLS):
        cached(x).block_until_ready()
    cached_operations, cached_s = watch._store.operations - before, watch.seconds - seconds
    distributed.meet("measured", 30)
    service = distributed.coordination_service()
    assert service is not None
    keys = service.client.key_value_dir_get(f"jaxscope/{watch.epoch}/")
    distributed.meet("read", 30)
    return {
        "small": [ours for ours, _ in small],
        "small_compile": [theirs for _, theirs in small],
        "long": [ours for ours, _ in long],
        "long_compile": [theirs for _, theirs in long],
        "cached_operations": cached_operations,
        "cached_s": cached_s,
        "operations": watch.most_operations,
        "keys": len(keys),
    }


def many_exchanges(processes: int) -> dict[str, Any]:
    """One compilation with the guard on, on so many threads of one coordination service."""
    import jax

    from jaxscope.analysis.cluster.divergence import print_of
    from jaxscope.capture._jax import distributed
    from jaxscope.capture.cluster.exchange import Exchange
    from jaxscope.capture.cluster.process import free_address
    from jaxscope.capture.cluster.store import JaxStore
    from jaxscope.model.cluster import CodePlace, CompiledPrint

    jax.distributed.initialize(free_address("127.0.0.1"), 1, 0)
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
        return store.operations, time.perf_counter() - began

    together = threading.Barrier(processes)
    with ThreadPoolExecutor(processes) as threads:
        found = list(threads.map(one, range(processes)))
    keys = service.client.key_value_dir_get("measured/")
    return {
        "operations": bounded(max(count for count, _ in found), OPERATIONS),
        "keys left": bounded(len(keys), 0),
        "slowest": {"median_s": max(seconds for _, seconds in found)},
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
