"""What the rounds themselves give reason to doubt: J107 and J301 to J309."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence

from jaxscope.analysis.comparison import stats
from jaxscope.model import Unavailable
from jaxscope.model.comparison import Doubt, Machine, Row

NOISY = 0.10
DRIFTING = 0.05
_FLOORS = 3
_SHORT_S = 50e-6
_SPINNING = 3
_HANDED_OVER = 1 / 3
_BUSY = 20.0
_CROWDED = 5.0  # below it, the tasks that waited were our own threads
_STOLEN = 1.0
_NAMED = 5


def row_doubts(row: Row, floor_s: float, environment: Mapping[str, str]) -> tuple[Doubt, ...]:
    """Of one row, from its raw rounds; `floor_s` is what the harness itself takes for a call."""
    samples = row.samples
    if not samples:
        return ()
    found = [
        _recompiled(row),
        _noisy(samples),
        _drifting(samples),
        _near_the_floor(samples, floor_s),
        _dispatch_bound(row),
        _spinning(row, environment),
        _handed_over(row),
    ]
    return tuple([doubt for doubt in found if doubt is not None])


def machine_doubts(
    machine: Machine, rounds: int, preempted: int, dropped: int
) -> tuple[Doubt, ...]:
    """Of the whole run."""
    found: list[Doubt] = []
    crowded = machine.others is None or machine.others > _CROWDED
    if machine.pressure is not None and machine.pressure > _BUSY and crowded:
        found.append(
            Doubt(
                "J306",
                f"The machine was busy: tasks waited for a CPU {machine.pressure:.0f} % of the "
                "time. Close what else runs, and measure again.",
            )
        )
    if rounds and preempted > rounds / 2 and dropped < preempted:
        found.append(
            Doubt(
                "J307",
                f"{preempted} of {rounds} rounds were preempted, so none could be left out.",
            )
        )
    clock = unsteady_clock(machine)
    return (*found, clock) if clock is not None else tuple(found)


def unsteady_clock(machine: Machine) -> Doubt | None:
    """J308."""
    reasons: list[str] = []
    if machine.governor and machine.governor != "performance":
        reasons.append(f"the CPU's governor is `{machine.governor}`")
    if machine.steal is not None and machine.steal > _STOLEN:
        reasons.append(f"the host took {machine.steal:.0f} % of the time for others")
    if machine.throttled:
        reasons.append(f"the GPU slowed down: {machine.throttled}")
    if not reasons:
        return None
    return Doubt("J308", f"The clock may change during the run: {'; '.join(reasons)}.")


def view() -> Doubt:
    """J110."""
    return Doubt(
        "J110", "It returns a view of its input, and JAX a copy: that is not the same work."
    )


def changed_inputs(names: Sequence[str]) -> Doubt:
    """J112."""
    which = ", ".join(f"`{name}`" for name in names)
    return Doubt(
        "J112",
        f"It changes {which} in place: each call gets fresh inputs, made outside the timed region. "
        "The other contestants have their own copies.",
    )


def changed_bound_inputs(names: Sequence[str]) -> Doubt:
    """J112, where the inputs are bound to the call."""
    which = ", ".join(f"`{name}`" for name in names)
    return Doubt("J112", f"It changes {which} in place, so every call works on other data.")


def _recompiled(row: Row) -> Doubt | None:
    rounds = sorted({i for session in row.sessions for i in session.recompiled})
    if not rounds:
        return None
    shown = ", ".join(str(i + 1) for i in rounds[:_NAMED])
    more = f" and {len(rounds) - _NAMED} more" if len(rounds) > _NAMED else ""
    kept = any(set(s.recompiled) - set(s.dropped) for s in row.sessions)
    what = "they count, because most calls compile" if kept else "they are left out"
    number = "round" if len(rounds) == 1 else "rounds"
    return Doubt("J107", f"It compiled again inside {number} {shown}{more}; {what}.")


def _noisy(samples: Sequence[float]) -> Doubt | None:
    found = stats.spread(samples)
    if not found.median or found.mad <= NOISY * found.median:
        return None
    percent = 100 * found.mad / found.median
    return Doubt("J301", f"Noisy: the spread is {percent:.0f} % of the median.")


def _drifting(samples: Sequence[float]) -> Doubt | None:
    moved = stats.drift(samples)
    if moved is None or abs(moved) <= DRIFTING:
        return None
    if moved >= 1:
        much = f"{1 + moved:.3g} times the time of the first"
    else:
        much = f"{100 * abs(moved):.0f} % {'more' if moved > 0 else 'less'} time than the first"
    return Doubt("J302", f"Drift: the second half took {much}.")


def _near_the_floor(samples: Sequence[float], floor_s: float) -> Doubt | None:
    middle = stats.spread(samples).median
    if not middle < _FLOORS * floor_s:
        return None
    return Doubt(
        "J303",
        f"{middle * 1e9:.0f} ns a call is within 3 times of the harness's own "
        f"{floor_s * 1e9:.0f} ns.",
    )


def _dispatch_bound(row: Row) -> Doubt | None:
    """Dispatch alone is no evidence where XLA runs a small program inside the call."""
    middle = stats.spread(row.samples).median
    dispatch, kernel = row.dispatch_s, row.kernel_s
    if dispatch is None or dispatch <= middle / 2 or middle >= _SHORT_S:
        return None
    if not isinstance(kernel, Unavailable) and kernel >= middle / 2:
        return None
    return Doubt(
        "J304",
        "Dispatch-bound: over half of the time is Python's and the runtime's, not the kernel's.",
    )


def _spinning(row: Row, environment: Mapping[str, str]) -> Doubt | None:
    if not row.contestant.startswith("torch") or not row.device.startswith("cpu"):
        return None
    if (row.threads or 1) < 2 or platform.system() != "Linux":
        return None
    passive = environment.get("OMP_WAIT_POLICY", "").upper() == "PASSIVE"
    if passive or "GOMP_SPINCOUNT" in environment:
        return None
    found = stats.spread(row.samples)
    if found.p90 <= _SPINNING * found.p10:
        return None
    return Doubt(
        "J305",
        "OpenMP's workers spin at barriers, which costs most on a busy machine: start the kernel "
        "with OMP_WAIT_POLICY=PASSIVE, or call torch.set_num_threads(1).",
    )


def _handed_over(row: Row) -> Doubt | None:
    """XLA's CPU client runs a program of some size on a thread of its own; a small one inside the
    call. Dispatch and kernel overlap there, so what both together leave out is the least of it."""
    if not row.contestant.startswith("jax") or not row.device.startswith("cpu"):
        return None
    dispatch, kernel = row.dispatch_s, row.kernel_s
    if dispatch is None or isinstance(kernel, Unavailable):
        return None
    middle = stats.spread(row.samples).median
    rest = middle - dispatch - kernel
    if rest <= _HANDED_OVER * middle or middle >= _SHORT_S:
        return None
    return Doubt(
        "J309",
        f"Handed over: {1e6 * rest:.0f} of {1e6 * middle:.0f} µs pass until another thread has "
        "taken the call and this one has seen its result, which changes from second to second. "
        'After `jax.config.update("jax_cpu_enable_async_dispatch", False)`, before anything has '
        "run, JAX runs it in place.",
    )


def settings() -> dict[str, str]:
    """The variables that decide how libraries wait."""
    return {
        name: value
        for name, value in os.environ.items()
        if name.startswith(("OMP_", "GOMP_", "MKL_", "OPENBLAS_"))
    }
