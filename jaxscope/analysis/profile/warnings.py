"""Reasons to distrust a profile, and caveats to read it with."""

import math
import statistics
from collections.abc import Iterable

from jaxscope import words
from jaxscope.analysis.hlo import HloModule
from jaxscope.analysis.trace.activity import COMMAND_BUFFER, hidden_in_graphs
from jaxscope.analysis.trace.event import TraceEvent
from jaxscope.model.profile import Profile

SHORTEST_S = 0.5e-3
"""Below this, dispatch and thread wake-up outweigh the work; shares were off by 9 points at 0.7 ms
on two cores."""
DISTORTED = 1.5
"""Profiled ÷ unprofiled; on a busy machine the ratio of equal work already varies by a quarter."""
_EVENT_S = 1e-6
_OVERLAP = 0.2
_MULTI_LINE = 0.05
_COVERED = 0.9
_DRIFT = 0.25
_UNSTEADY = 0.1
"""Between the median call and the sum of the medians of its parts."""
_NOTICED = 1.3


def unreliable(profile: Profile) -> str:
    """The reason not to show times by line; empty if they are reliable."""
    on_gpu = profile.device.startswith("gpu")
    if not profile.ops:
        other = "another profiler, such as PyTorch's, keeps CUPTI until the kernel restarts"
        missing = other if on_gpu else "this XLA records no events for its instructions"
        return (
            f"The trace contains no instruction of this program. It computes nothing, or {missing}."
        )
    if on_gpu:
        return ""  # a kernel's time is by the clock of its device
    ratio = profile.profiled_ratio
    call_s = min(profile.call_s, profile.unprofiled_s)  # the first, where the second is NaN
    if call_s < SHORTEST_S:
        return (
            f"A call takes {words.seconds(call_s)}. Below {SHORTEST_S * 1e3:g} ms, dispatch and "
            "thread wake-up dominate, so shares by line would be meaningless. Profile a larger "
            "input, or a loop over many calls (`jax.lax.scan`)."
        )
    if ratio > DISTORTED:
        if profile.events * _EVENT_S < 0.1 * call_s:
            return (
                f"Profiled calls took {ratio:.1f} times as long as unprofiled ones, which their "
                f"{profile.events} events do not explain. The machine was busy: run it again."
            )
        return (
            f"Profiling made the call {ratio:.1f} times as long "
            f"({words.count(profile.events, 'executed instruction')}, about 1 µs each), so the "
            "shares are those of the profiler. Profile fewer or larger loop iterations."
        )
    return ""


_FLAG = (
    "To attribute them to lines, start the kernel with "
    "XLA_FLAGS=--xla_gpu_enable_command_buffer= (before importing JAX)."
)


def command_buffers(module: HloModule) -> int:
    """The number of instruction groups that XLA launches as CUDA graphs."""
    return sum(c.name.startswith(COMMAND_BUFFER) for c in module.computations)


def graph_warnings(hidden: int, recorded: int = 0) -> tuple[str, ...]:
    """Kernels hidden by CUDA graphs, and the flag that reveals them.

    Source: https://github.com/openxla/xprof/issues/3070
    """
    if hidden:
        kernels = words.count(hidden, "kernel")
        return (f"{kernels} ran in CUDA graphs, which report no instruction. {_FLAG}",)
    if recorded:
        groups = "a CUDA graph" if recorded == 1 else f"{recorded} CUDA graphs"
        return (
            (
                f"XLA launches some instructions as {groups} (command buffers), whose kernels may "
                f"be counted under the call. {_FLAG}"
            ),
        )
    return ()


def hidden_kernels(events: Iterable[TraceEvent]) -> tuple[str, ...]:
    """Kernels of a cell that count at the calling line, because CUDA graphs hide them."""
    return graph_warnings(hidden_in_graphs(events))


def warnings(profile: Profile) -> tuple[str, ...]:
    """Caveats for the table of lines, the worst first."""
    found: list[str] = []
    if [len(session.profiled) for session in profile.sessions] == [1]:
        found.append("Only one call was profiled, so the variation of these times is unknown.")
    covered = profile.covered_s or math.nan
    if abs(profile.call_s - profile.whole_s) > _UNSTEADY * profile.call_s:
        found.append(
            f"The calls vary: the median call took {words.seconds(profile.call_s)}, but the "
            f"medians of its parts add up to {words.seconds(profile.whole_s)}."
        )
    largest = max((joint.seconds for joint in profile.joint), default=0.0)
    if profile.multi_line_s > _MULTI_LINE * covered >= largest:  # a larger one has its own sentence
        found.append(
            f"{words.percent(profile.multi_line_s / covered)} of the time is in multi-line "
            "fusions: only their sum is measured, and each line has a bracket."
        )
    if profile.concurrent_s > _OVERLAP * covered:
        found.append(
            f"Instructions overlap for {words.percent(profile.concurrent_s / covered)} of the "
            "time. Shares are wall time, split evenly among what ran (± 10 points)."
        )
    if profile.coverage < _COVERED:
        found.append(
            f"Only {words.percent(profile.coverage)} of a call is inside instructions; the rest "
            "is dispatch, idle time and completion."
        )
    if profile.profiled_ratio > _NOTICED and not unreliable(profile):
        found.append(f"Profiling made the call {profile.profiled_ratio:.2f} times as long.")
    medians = [statistics.median(s.profiled) for s in profile.sessions if s.profiled] or [math.nan]
    drift = (max(medians) - min(medians)) / statistics.median(medians)
    if drift > _DRIFT:
        found.append(
            f"The profiler sessions differ by {words.percent(drift)} in the time of a call: the "
            "machine was busy."
        )
    return tuple(found)
