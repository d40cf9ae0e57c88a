"""Compilations that a watch sees of 20 000, its memory, and of 8 threads that compile at once.

Each side in a process of its own: tiny distinct programs under `jaxscope.watch()`, and the same in
plain JAX. A listener that knows nothing of jaxscope counts what is compiled. The log keeps 10 000
compilations, so from there on its memory may grow no more than that of plain JAX.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from measurements.budget import within_bytes
from measurements.process import printed

COUNT = 20_000
THREADS = 8
EACH = 500
BUDGET = 10_000_000
_ONE = """
import contextlib, json
import jax, numpy as np
from measurements.shell import Counter

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096

made = Counter()
jax.monitoring.register_event_duration_secs_listener(made)
x = jax.device_put(np.ones(2, np.float32))
watch = contextlib.nullcontext()
if {watched}:
    import jaxscope
    from jaxscope.capture import _jax
    from jaxscope.capture.compiles.listener import Listener
    watch = jaxscope.watch()
sizes = []
with watch:
    for i in range({count} + 1):
        jax.jit(lambda v: v + i)(x)
        made.spans.clear(), made.names.clear()
        if i % ({count} // 20) == 0:
            sizes.append(resident())
    seen = _jax.monitors(Listener).compile_count if {watched} else 0
print(json.dumps([sizes, made.compiles, seen]))
"""
_THREADS = """
import json, threading
import jax, numpy as np
import jaxscope
from measurements.shell import Counter

made = Counter()
jax.monitoring.register_event_duration_secs_listener(made)
together = threading.Barrier({threads})

def work(i):
    names = {{}}
    exec(f"def work_{{i}}(v): return v + {{i}}", names)
    step = jax.jit(names[f"work_{{i}}"])
    together.wait()
    for n in range({each}):
        step(np.ones(n + 1, np.float32))

with jaxscope.watch() as log:
    started = [(i, f"work_{{i}}") for i in range({threads})]
    threads = [threading.Thread(target=work, args=(i,), name=name) for i, name in started]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
right = 0
for i in range({threads}):
    own = [one for one in log.compiles if one.thread == f"work_{{i}}"]
    for n, one in enumerate(own):
        kinds = [str(cause.kind) for cause in one.causes]
        texts = " ".join(one.signature)
        right += (
            one.fun_name == f"work_{{i}}"
            and f"[{{n + 1}}]" in texts
            and kinds == (["shape"] if n else ["first_call"])
        )
print(json.dumps([made.compiles, len(log.compiles), right]))
"""


def measure(count: int = COUNT, threads: int = THREADS, each: int = EACH) -> dict[str, Any]:
    sizes: dict[str, list[int]] = {}
    seen: dict[str, Any] = {}
    for side, watched in (("jaxscope", True), ("plain JAX", False)):
        sizes[side], made, noted = printed(_ONE.format(count=count, watched=watched))
        if watched:
            seen = {"compiled": made, "seen": noted, "ok": made == noted == count + 1}
    resident = {
        f"{count // 20 * i} compiled": {f"{side}_bytes": found[i] for side, found in sizes.items()}
        for i in (0, 5, 10, 15, 20)
    }
    grown = {side: found[20] - found[10] for side, found in sizes.items()}
    made, noted, right = printed(_THREADS.format(threads=threads, each=each))
    return {
        "in one thread": seen,
        "resident": resident,
        "growth of the second half": {f"{side}_bytes": size for side, size in grown.items()},
        "second half beyond plain JAX": within_bytes(
            grown["jaxscope"] - grown["plain JAX"], BUDGET
        ),
        "in threads": {
            "threads": threads,
            "compiled": made,
            "seen": noted,
            "right_cause": right,
            "ok": made == noted == right == threads * each,
        },
        "samples": sizes,
    }


if __name__ == "__main__":
    json.dump(measure(*map(int, sys.argv[1:])), sys.stdout, indent=1)
