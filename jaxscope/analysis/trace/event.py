"""Events and operations of a profiler's trace, and wall time by operation.

Operations of several threads overlap, so their durations add up to more than the wall time. Every
instant is split evenly among the operations that ran then, which keeps the sum at the wall time.
While only a loop or branch was open and nothing inside it ran, the time is that container's
control-flow overhead.
"""

import collections
from collections.abc import Collection, Iterable, Mapping
from dataclasses import KW_ONLY, dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

_NOTHING: Mapping[str, Any] = MappingProxyType({})


class TraceEvent(NamedTuple):
    """One event of one thread. Times are nanoseconds on the trace's own clock.

    A tuple: a trace has thousands, and building a frozen dataclass takes four times as long.
    """

    thread: str
    name: str
    start: float
    end: float
    stats: Mapping[str, Any] = _NOTHING


@dataclass(frozen=True, slots=True)
class Op:
    """One execution of one HLO instruction."""

    name: str
    """The instruction's name in the optimized HLO."""
    module: str
    program: int
    """XLA's number of the executable: two programs may have modules of the same name."""
    run: int
    """XLA's number of the call."""
    device: int
    _: KW_ONLY
    thread: str
    """The launching thread."""
    start: float
    """ns"""
    end: float
    """Time at which its result was ready."""
    cpu: float = 0.0
    """CPU ns of all threads for this operation, without operations inside it."""


@dataclass(frozen=True, slots=True)
class Shares:
    """Wall time of some operations, in ns."""

    by_op: Mapping[str, float]
    """Instruction → its share of the covered time."""
    overhead: Mapping[str, float]
    """Loop, branch or call → time in which it was open and nothing inside it ran."""
    covered: float
    """Sum of both: time in which at least one instruction was open."""
    concurrent: float
    """The part of it in which several ran at once."""


def shares(ops: Iterable[Op], containers: Collection[str]) -> Shares:
    """Split the time of operations; `containers` are the instructions that run others."""
    # At one instant, ends come before starts.
    points: list[tuple[float, int, int, Op]] = []
    for number, op in enumerate(ops):
        if op.end > op.start:
            points.append((op.start, 1, number, op))
            points.append((op.end, 0, number, op))
    points.sort(key=lambda point: point[:3])
    by_op: dict[str, float] = collections.defaultdict(float)
    overhead: dict[str, float] = collections.defaultdict(float)
    leaves: dict[int, Op] = {}
    boxes: dict[int, Op] = {}
    covered = concurrent = 0.0
    last = 0.0
    for time, begins, number, op in points:
        passed = time - last
        if passed > 0 and leaves:
            covered += passed
            concurrent += passed if len(leaves) > 1 else 0.0
            part = passed / len(leaves)
            for running in leaves.values():
                by_op[running.name] += part
        elif passed > 0 and boxes:
            covered += passed
            overhead[max(boxes.values(), key=lambda box: box.start).name] += passed
        last = time
        running = boxes if op.name in containers else leaves
        if begins:
            running[number] = op
        else:
            running.pop(number, None)
    return Shares(dict(by_op), dict(overhead), covered, concurrent)
