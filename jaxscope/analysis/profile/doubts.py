"""What keeps a profile from being believed, in words."""

from __future__ import annotations

import math
import statistics

from jaxscope.analysis.hlo import HloModule
from jaxscope.model.profile import Profile, ProfileSession

SHORTEST_S = 0.5e-3
"""Below this, dispatch and the waking of threads outweigh the work; shares were off by 9 points at
0.7 ms on two cores."""
DISTORTED = 1.5
"""Traced over untraced; on a busy machine the ratio of equal work already varies by a quarter."""
_EVENT_S = 1e-6
_OVERLAP = 0.2
_CROSSING = 0.05
_COVERED = 0.9
_INFERRED = 0.06
_LOST = 0.05
_DRIFT = 0.25
_UNSTEADY = 0.1
"""Between the middle call and the sum of the middles of its parts."""
_NOTICED = 1.3


def distrust(profile: Profile) -> str:
    """Why no table of lines may be shown; empty if it may."""
    if not profile.ops:
        return (
            "The trace holds no instruction of this program: it computes nothing, or this XLA "
            "writes no events for its instructions."
        )
    usual = profile.untraced_s if not math.isnan(profile.untraced_s) else profile.call_s
    if usual < SHORTEST_S:
        return (
            f"A call takes {usual * 1e6:.0f} µs. Below {SHORTEST_S * 1e3:g} ms most of it is "
            "dispatch and the waking of threads, and shares of lines would be made up; profile "
            "a larger input, or a loop (jax.lax.scan) over many calls."
        )
    if profile.ratio > DISTORTED:
        if profile.events * _EVENT_S < 0.1 * usual:
            return (
                f"The traced calls took {profile.ratio:.1f} times as long as the others, and the "
                f"{profile.events} events in each are no reason for that: the machine was busy "
                "with something else. Run it again."
            )
        return (
            f"Tracing made the call {profile.ratio:.1f} times as long ({profile.events} executed "
            "instructions, about 1 µs for each), so the shares are the profiler's and not the "
            "program's; profile fewer steps of the loop, or larger ones."
        )
    return ""


_FLAG = (
    "start the kernel with XLA_FLAGS=--xla_gpu_enable_command_buffer= (set before JAX is imported) "
    "to have their lines"
)


def command_buffers(module: HloModule) -> int:
    """How many groups of instructions XLA records as CUDA graphs and launches as one."""
    return sum(c.name.startswith("command_buffer") for c in module.computations)


def in_graphs(hidden: int, recorded: int = 0) -> tuple[str, ...]:
    """What CUDA graphs take from the table, and the flag that gives it back.

    Source: https://github.com/openxla/xprof/issues/3070
    """
    if hidden:
        return (
            (
                f"{hidden} kernels ran inside CUDA graphs, which do not say what instruction they "
                f"are for: {_FLAG}."
            ),
        )
    if recorded:
        groups = "a CUDA graph" if recorded == 1 else f"{recorded} CUDA graphs"
        return (
            (
                f"XLA launches some instructions as {groups} (command buffers), and their kernels "
                f"may stand together under the call: {_FLAG}."
            ),
        )
    return ()


def doubts(profile: Profile) -> tuple[str, ...]:
    """What to keep in mind while reading the table, the worst first."""
    found: list[str] = []
    if [len(session.traced) for session in profile.sessions] == [1]:
        found.append("One call was traced, so nothing is known of how these times vary.")
    covered = profile.covered_s or math.nan
    if abs(profile.call_s - profile.whole_s) > _UNSTEADY * profile.call_s:
        found.append(
            f"The calls vary: the middle one took {profile.call_s * 1e3:.3g} ms, and its parts, "
            f"each the middle of its own, add up to {profile.whole_s * 1e3:.3g} ms."
        )
    largest = max((joint.seconds for joint in profile.joint), default=0.0)
    if profile.crossing_s > _CROSSING * covered >= largest:  # a larger one has its own sentence
        found.append(
            f"{_percent(profile.crossing_s / covered)} of the time lies in instructions that do "
            "the work of several lines at once: only their sum is measured, each line's part is "
            "bracketed."
        )
    if profile.concurrent_s > _OVERLAP * covered:
        found.append(
            f"Instructions overlap for {_percent(profile.concurrent_s / covered)} of the time: a "
            "share means time that passed, split evenly among what ran, ± 10 points."
        )
    if profile.coverage < _COVERED:
        found.append(
            f"Only {_percent(profile.coverage)} of a call passed inside instructions; the rest is "
            "dispatch, gaps between them and the return."
        )
    if profile.inferred_s > _INFERRED * covered:
        found.append(
            f"{_percent(profile.inferred_s / covered)} of the time was given to lines by likeness."
        )
    if profile.unattributed_s > _LOST * covered:
        found.append(
            f"{_percent(profile.unattributed_s / covered)} of the time belongs to no known line."
        )
    if _NOTICED < profile.ratio <= DISTORTED:
        found.append(f"Tracing made the call {profile.ratio:.2f} times as long.")
    if (drift := _drift(profile.sessions)) > _DRIFT:
        found.append(
            f"The sessions differ by {_percent(drift)} in the seconds of a call: a busy machine."
        )
    return tuple(found)


def _drift(sessions: tuple[ProfileSession, ...]) -> float:
    medians = [statistics.median(s.traced) for s in sessions if s.traced]
    return (max(medians) - min(medians)) / statistics.median(medians) if len(medians) > 1 else 0.0


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
