"""Planted stragglers, clock errors, divergences and hangs of two processes, and what was reported.

Two engines of ipyparallel with two simulated devices each; warning and banner also on Dask. The
host sleeps for a time that the cell measures itself; the device works for as long as the program
itself measures, by a callback before and after the loop of each device.
"""

from __future__ import annotations

import json
import os
import re
import statistics
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from jaxscope.analysis.cluster.waits import Waits, waits
from jaxscope.model.cluster import ProcessTrace
from tests.cluster.launchers import LAUNCHERS, attached
from tests.cluster.scenarios import SETUP
from tests.magics.notebook import open_notebook

_LIFE_S = 110
_STEPS, _SLEEP_S, _CLOCK_S = 10, 0.03, 5e-3
_SHARE, _CLOCK_ERROR_S, _WARNING_S, _BANNER_S = 0.05, 0.2e-3, 1.0, 5.0
_WORK = """
import time
n, more = 300, 9 * 300 * np.array([0, 0, 0, 1])
stamps = []
def stamp(device, number):
    stamps.append((int(device), time.monotonic()))
    return np.int32(number)
def stamped(number):
    like = jax.ShapeDtypeStruct((), "i")
    return jax.pure_callback(stamp, like, jax.lax.axis_index("d"), number)
def work(x, n):
    return jax.lax.fori_loop(0, n, lambda i, x: jax.numpy.sin(x @ x), x)
square = np.full((128, 128), 0.01, "f")
both = PartitionSpec("d")
counts = jax.make_array_from_callback((4,), sharding, lambda i: (n + more)[i].astype("i"))
def inside(counts):
    total = work(square, stamped(counts[0])).sum()
    done = stamped((total > 0).astype("i"))
    return jax.lax.psum(total + done, "d")
step = jax.jit(jax.shard_map(inside, mesh=mesh, in_specs=both, out_specs=PartitionSpec(),
                             check_vma=False))
float(step(counts))
stamps.clear()
"""
_LOOPS = """
ends = {d: [t for device, t in stamps if device == d] for d in {d for d, _ in stamps}}
print(*[f"loop{d}={sum(t[1::2]) - sum(t[::2])}" for d, t in sorted(ends.items())])
"""


def measure() -> dict[str, Any]:
    """All of it, on one cluster of each launcher."""
    found: dict[str, Any] = {}
    for name in LAUNCHERS:
        with open_notebook() as notebook, attached(name, notebook) as _:
            notebook.must("%jaxcluster init --devices-per-process 2 -q")
            cluster = _attached(notebook)
            _run(cluster, SETUP.format(life_s=_LIFE_S))
            if name == "ipyparallel":
                found |= stragglers(cluster)
            found[f"warning, {name}"] = warning(cluster)
            found[f"stall banner, {name}"] = banner(cluster)
    return found


def _attached(notebook: Any) -> Any:
    from jaxscope.cluster import attach

    return attach(notebook.names["rc"])


def _run(cluster: Any, code: str, say: Callable[[str], None] = lambda text: None) -> str:
    runs = cluster.run_cell(code, say).runs
    failed = [run.error for run in runs if run.error]
    if failed:
        raise RuntimeError(failed[0])
    return "".join(run.printed for run in runs)


def stragglers(cluster: Any) -> dict[str, Any]:
    """A late host, a late device, and the clocks of both profiles."""
    _run(cluster, _WORK)
    _run(cluster, "small = jax.jit(lambda x: (x * 2).sum())\nfloat(small(x))")
    host = cluster.profile(
        "import time\nslept = 0.0\n"
        f"for _ in range({_STEPS}):\n"
        "    if p:\n"
        "        began = time.perf_counter()\n"
        f"        time.sleep({_SLEEP_S})\n"
        "        slept += time.perf_counter() - began\n"
        "    float(small(x))\n"
        "if p: print('slept', slept)"
    )
    device = cluster.profile(f"for _ in range({_STEPS}): float(step(counts))")
    loops = dict(re.findall(r"loop(\d)=([\d.]+)", _run(cluster, _LOOPS)))
    more = float(loops["3"]) - min(float(loops["0"]), float(loops["1"]))
    even = cluster.profile("for _ in range(50): float(small(x))")
    planted = _number("slept", "".join(host.printed))
    late, busy = host.waits.late[0], device.waits.late[0]
    return {
        "host sleeps 30 ms": {
            **_within_share(late.host_s, planted),
            "planted_s": planted,
            "host_late_s": late.host_s,
            "device_late_s": late.device_s,
            "process": late.process,
            "line": max(late.lines, key=lambda line: late.lines[line]),
        },
        "device works 10 times as long": {
            **_within_share(busy.device_s, more),
            "planted_s": more,
            "host_late_s": busy.host_s,
            "device_late_s": busy.device_s,
            "process": busy.process,
            "device": max(busy.devices, key=lambda one: busy.devices[one]),
        },
        "right process and kind": {
            "ok": late.process == busy.process == 1
            and late.host_s > late.device_s
            and busy.device_s > busy.host_s
        },
        **{
            f"clock, {name}, {what}": _within("error", _clock_error(traces, by_s), _CLOCK_ERROR_S)
            for name, traces in (("even", even.traces), ("straggler", host.traces))
            for what, by_s in (
                ("as it is", 0.0),
                ("5 ms late", _CLOCK_S),
                ("5 ms early", -_CLOCK_S),
            )
        },
    }


def _within(name: str, seconds: float, budget_s: float) -> dict[str, Any]:
    return {f"{name}_s": seconds, "budget_s": budget_s, "ok": seconds <= budget_s}


def _within_share(seconds: float, planted_s: float) -> dict[str, Any]:
    share = seconds / planted_s
    return {"share": share, "budget": f"1 ± {_SHARE}", "ok": abs(share - 1) <= _SHARE}


def _number(name: str, text: str) -> float:
    found = re.search(rf"{name} ([\d.e-]+)", text)
    if found is None:
        raise RuntimeError(f"{name} was not printed: {text!r}")
    return float(found[1])


def _clock_error(traces: tuple[ProcessTrace, ...], planted_s: float) -> float:
    """The error of the clock of process 1; both clocks are that of one machine."""
    found: Waits = waits([traces[0], shifted(traces[1], planted_s * 1e9)])
    offset = found.clocks[1].seconds
    return abs((offset or 0.0) - planted_s)


def shifted(trace: ProcessTrace, by_ns: float) -> ProcessTrace:
    """The trace as a process with a different clock would have it."""
    return replace(
        trace,
        collectives=tuple(
            one._replace(start=one.start + by_ns, end=one.end + by_ns) for one in trace.collectives
        ),
        runs=tuple(
            one._replace(start=one.start + by_ns, end=one.end + by_ns) for one in trace.runs
        ),
        stays=tuple(one._replace(start=one.start + by_ns) for one in trace.stays),
    )


def warning(cluster: Any) -> dict[str, Any]:
    """Seconds from the end of the second process's lowering to the message in the notebook."""
    cluster.guard("warn")
    found: list[float] = []
    for number in range(5):
        said: list[float] = []

        def note(text: str, said: list[float] = said) -> None:
            if "with different constants" in text:
                said.append(time.time())

        printed = _run(
            cluster,
            "import time\n"
            f"lowered = jax.jit(lambda x: x.sum() * ({number} + 2 + p / 7)).lower(x)\n"
            "if p: time.sleep(0.3)\n"
            "if p: print('lowered', time.time())\n"
            "_ = lowered.compile()",
            note,
        )
        found.append(said[0] - _number("lowered", printed))
    return {**_within("slowest", max(found), _WARNING_S), "median_s": statistics.median(found)}


def banner(cluster: Any) -> dict[str, Any]:
    """Seconds from the call that hangs to the banner; ends with engines that are poisoned."""
    _run(cluster, "w = jax.jit(lambda x: x.sum() + 21)\nfloat(w(x))")
    began: list[float] = []
    banners: list[float] = []

    def note(text: str) -> None:
        if "hangs since" in text:
            began.append(_number("hangs since", text))
        if "maybe a hang" in text:
            banners.append(time.time())
            raise KeyboardInterrupt

    code = (
        "import sys, time\n"
        "from jaxscope.capture.cluster import process\n"
        "if p == 0:\n"
        "    process._watch[0]._say(f'hangs since {time.time()}')\n"
        "    float(w(x))"
    )
    try:
        cluster.run_cell(code, note)
    except KeyboardInterrupt:
        return _within("after", banners[0] - began[0], _BANNER_S)
    raise RuntimeError("the cell did not hang")


if __name__ == "__main__":
    watchdog = threading.Timer(4 * _LIFE_S, os._exit, (1,))
    watchdog.daemon = True
    watchdog.start()
    json.dump(measure(), sys.stdout, indent=1)
