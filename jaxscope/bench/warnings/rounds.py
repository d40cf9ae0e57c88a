"""Warnings from the rounds themselves: J107, J110, J112, J113 and J301 to J309."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator, Mapping, Sequence

from jaxscope import words
from jaxscope.analysis.comparison import stats
from jaxscope.model import Unavailable
from jaxscope.model.comparison import BenchWarning, ComparisonRow, Machine

NOISY = 0.10
DRIFTING = 0.05
_OVERHEADS = 3
_SHORT_S = 50e-6
_SPINNING = 3
_SWITCHED = 1 / 3
_BUSY = 20.0
_CROWDED = 5.0  # below it, the tasks that waited were threads of this process
_STOLEN = 1.0
_NAMED = 5


def row_warnings(
    row: ComparisonRow, overhead_s: float, environment: Mapping[str, str]
) -> tuple[BenchWarning, ...]:
    """Warnings about one row, from its raw rounds; `overhead_s` is the harness's own per call."""
    samples = row.samples
    if not samples:
        return ()
    return (
        *_recompiled(row),
        *_noisy(samples),
        *_drifting(samples),
        *_near_the_overhead(samples, overhead_s),
        *_host_bound(row),
        *_spinning(row, environment),
        *_thread_switch(row),
    )


def machine_warnings(
    machine: Machine, rounds: int, preempted: int, dropped: int
) -> Iterator[BenchWarning]:
    """Warnings about the whole run; of load only where something was timed."""
    if rounds and busy(machine):
        yield BenchWarning(
            "J306",
            f"The machine was busy: tasks waited for a CPU {machine.pressure:.0f} % of the time. "
            "Close other programs and measure again.",
        )
    if rounds and preempted > rounds / 2 and dropped < preempted:
        yield BenchWarning(
            "J307", f"{preempted} of {rounds} rounds were preempted, too many to leave out."
        )
    yield from unsteady_clock(machine)


def busy(machine: Machine) -> bool:
    """Whether other processes made tasks wait for a CPU."""
    crowded = machine.others is None or machine.others > _CROWDED
    return machine.pressure is not None and machine.pressure > _BUSY and crowded


def unsteady_clock(machine: Machine) -> Iterator[BenchWarning]:
    """J308."""
    reasons: list[str] = []
    if machine.governor and machine.governor != "performance":
        reasons.append(f"the CPU frequency governor is `{machine.governor}`")
    if machine.steal is not None and machine.steal > _STOLEN:
        reasons.append(f"the host took {machine.steal:.0f} % of the CPU time")
    if machine.throttled:
        reasons.append(f"the GPU lowered its clock: {machine.throttled}")
    if reasons:
        yield BenchWarning("J308", f"The clock rate may have changed: {'; '.join(reasons)}.")


def view() -> BenchWarning:
    """J110."""
    return BenchWarning(
        "J110", "It returns a view of its input, but JAX returns a copy, which is more work."
    )


def changed_inputs(names: Sequence[str], bound: bool) -> BenchWarning:
    """J112; `bound` inputs are part of the call, so that they cannot be refreshed."""
    outcome = "Each call gets fresh inputs, created outside the timed region"
    if bound:
        outcome = "Every call computes with different data"
    which = words.names(names, len(names))
    return BenchWarning("J112", f"It changes {which} in place. {outcome}.")


def printing() -> BenchWarning:
    """J113."""
    return BenchWarning(
        "J113",
        "It prints in every call, and the time includes that. The output of the warm-up and of the "
        "rounds is hidden.",
    )


def _recompiled(row: ComparisonRow) -> Iterator[BenchWarning]:
    rounds = sorted({i for process in row.processes for i in process.recompiled})
    if not rounds:
        return
    shown = ", ".join(str(i + 1) for i in rounds[:_NAMED])
    more = f" and {len(rounds) - _NAMED} more" if len(rounds) > _NAMED else ""
    kept = any(set(p.recompiled) - set(p.dropped) for p in row.processes)
    outcome = "These count, because most calls compile" if kept else "These are left out"
    number = "round" if len(rounds) == 1 else "rounds"
    yield BenchWarning("J107", f"It recompiled in {number} {shown}{more}. {outcome}.")


def _noisy(samples: Sequence[float]) -> Iterator[BenchWarning]:
    found = stats.spread(samples)
    if found.median and found.mad > NOISY * found.median:
        percent = 100 * found.mad / found.median
        yield BenchWarning(
            "J301", f"The rounds are noisy: they deviate by {percent:.0f} % of the median."
        )


def _drifting(samples: Sequence[float]) -> Iterator[BenchWarning]:
    moved = stats.drift(samples)
    if moved is None or abs(moved) <= DRIFTING:
        return
    ratio = 1 + moved
    if ratio >= 2:
        text = f"the second half took {ratio:.3g} times as long as the first"
    elif 0 < ratio <= 0.5:
        text = f"the first half took {1 / ratio:.3g} times as long as the second"
    else:
        much = f"{100 * abs(moved):.0f} % {'longer' if moved > 0 else 'less time'}"
        text = f"the second half took {much} than the first"
    yield BenchWarning("J302", f"The times drift: {text}.")


def _near_the_overhead(samples: Sequence[float], overhead_s: float) -> Iterator[BenchWarning]:
    median = stats.spread(samples).median
    if median < _OVERHEADS * overhead_s:
        yield BenchWarning(
            "J303",
            f"{median * 1e9:.0f} ns per call is less than 3 times the overhead of the harness, "
            f"{overhead_s * 1e9:.0f} ns. Time more work per call.",
        )


def _host_bound(row: ComparisonRow) -> Iterator[BenchWarning]:
    """Dispatch time alone is not evidence: XLA runs a small program inside the call."""
    median = stats.spread(row.samples).median
    dispatch, device = row.dispatch_s, row.device_s
    if dispatch is None or dispatch <= median / 2 or median >= _SHORT_S:
        return
    if not isinstance(device, Unavailable) and device >= median / 2:
        return
    yield BenchWarning(
        "J304",
        "It is host-bound: over half of the time is dispatch, not device time. Do more work per "
        "call.",
    )


def _spinning(row: ComparisonRow, environment: Mapping[str, str]) -> Iterator[BenchWarning]:
    if row.framework != "torch" or not row.device.startswith("cpu"):
        return
    if (row.threads or 1) < 2 or platform.system() != "Linux":
        return
    passive = environment.get("OMP_WAIT_POLICY", "").upper() == "PASSIVE"
    found = stats.spread(row.samples)
    if passive or "GOMP_SPINCOUNT" in environment or found.p90 <= _SPINNING * found.p10:
        return
    yield BenchWarning(
        "J305",
        "OpenMP's workers spin at barriers, which is slow on a busy machine. Start the kernel with "
        "OMP_WAIT_POLICY=PASSIVE, or call torch.set_num_threads(1).",
    )


def _thread_switch(row: ComparisonRow) -> Iterator[BenchWarning]:
    """XLA's CPU client runs a program of some size on a different thread, a small one inside the
    call. Dispatch and device time overlap, so the rest is a lower bound of the switch."""
    dispatch, device = row.dispatch_s, row.device_s
    if row.framework != "jax" or not row.device.startswith("cpu"):
        return
    if dispatch is None or isinstance(device, Unavailable):
        return
    median = stats.spread(row.samples).median
    rest = median - dispatch - device
    if rest <= _SWITCHED * median or median >= _SHORT_S:
        return
    yield BenchWarning(
        "J309",
        f"Switching threads takes {1e6 * rest:.0f} of {1e6 * median:.0f} µs per call, and varies "
        'from second to second. Set `jax.config.update("jax_cpu_enable_async_dispatch", False)` '
        "before anything runs, and JAX runs the call on its own thread.",
    )


def settings() -> dict[str, str]:
    """The environment variables that decide how libraries wait."""
    return {
        name: value
        for name, value in os.environ.items()
        if name.startswith(("OMP_", "GOMP_", "MKL_", "OPENBLAS_"))
    }
