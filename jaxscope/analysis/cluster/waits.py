"""Collectives joined over processes: clocks, who waited, and for whom.

All devices of a collective leave it together, so its ends give the difference of two clocks, and
its last start shows for whom the others waited.
"""

from __future__ import annotations

import bisect
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from jaxscope.analysis.cluster.clocks import ClockPair, Passage
from jaxscope.analysis.cluster.exchange_order import order_difference
from jaxscope.model.cluster import DeviceRun, LineStay, ProcessTrace

_NS = 1e-9


@dataclass(frozen=True, slots=True)
class ClockOffset:
    """The clock of a process against that of the lowest one."""

    process: int
    seconds: float | None
    """None where no collective joins it to the lowest process."""
    error_s: float = 0.0
    """See `clocks.ClockPair.offset`."""


@dataclass(slots=True)
class Lateness:
    """Time for which the others waited for one process."""

    process: int
    times: int = 0
    wait_s: float = 0.0
    host_s: float = 0.0
    """The device had nothing to do: the program was dispatched late."""
    device_s: float = 0.0
    """The device worked longer than the others."""
    devices: dict[int, float] = field(default_factory=dict[int, float])
    """Seconds by device."""
    lines: dict[str, float] = field(default_factory=dict[str, float])
    """Seconds of the late host by the line of its main thread."""


@dataclass(frozen=True, slots=True)
class Waits:
    """A profiled cell on all processes."""

    processes: int
    collectives: int
    """Collectives that join processes."""
    span_s: float
    clocks: tuple[ClockOffset, ...]
    waited: Mapping[int, float]
    """Seconds that each process waited in collectives for others."""
    late: tuple[Lateness, ...]
    """The most waited for first."""
    mismatch: str = ""
    """The first collective at which the processes differ; then nothing else is known."""


class _Member(NamedTuple):
    process: int
    device: int
    start: float
    end: float
    before: int
    """Index of this collective on its device."""


_NONE = -1
"""The group of a device on which two processes disagree."""
_Devices = dict[tuple[int, int], list[tuple[float, int]]]
"""Ends and groups of the collectives of each device, in order."""


class _Groups(NamedTuple):
    """Groups of devices by number, as they are long to compare."""

    members: list[frozenset[int]]
    of: dict[tuple[str, str, int], int]
    """By module, collective and device."""


def waits(traces: Sequence[ProcessTrace]) -> Waits:
    """Join the traces of all processes."""
    groups = _groups(traces)
    mismatch = _mismatch(traces, groups)
    if mismatch:
        return Waits(len(traces), 0, 0.0, (), {}, (), mismatch)
    joined, devices = _joined(traces, groups)
    clocks = _clocks(traces, [instance for parallel in joined for instance in parallel])
    shift = {clock.process: (clock.seconds or 0.0) / _NS for clock in clocks}
    starts = [run.start - shift[trace.process] for trace in traces for run in trace.runs]
    ends = [run.end - shift[trace.process] for trace in traces for run in trace.runs]
    origin = min(starts, default=0.0)
    timeline = _Timeline(
        groups,
        devices,
        {trace.process: _by_device(trace.runs) for trace in traces},
        {trace.process: trace.stays for trace in traces},
        shift,
        origin,
    )
    waited = dict.fromkeys([trace.process for trace in traces], 0.0)
    late: dict[int, Lateness] = {}
    for parallel in joined:
        # Groups of devices wait side by side: their waits do not add up.
        found = [timeline.arrival(group, members) for group, members in parallel]
        for process in {process for one in found for process in one.waiting}:
            waited[process] += max(one.waiting.get(process, 0.0) for one in found) * _NS
        for last in {one.process: one for one in sorted(found, key=lambda one: one.wait)}.values():
            _add(late.setdefault(last.process, Lateness(last.process)), last)
    order = sorted(late.values(), key=lambda one: -one.wait_s)
    span = (max(ends, default=0.0) - origin) * _NS
    return Waits(len(traces), len(joined), span, clocks, waited, tuple(order))


class _Arrival(NamedTuple):
    """The last device of one collective, and for how long the others waited; ns."""

    process: int
    device: int
    wait: float
    host: float
    line: str
    waiting: Mapping[int, float]


def _add(late: Lateness, one: _Arrival) -> None:
    late.times += 1
    late.wait_s += one.wait * _NS
    late.host_s += one.host * _NS
    late.device_s += (one.wait - one.host) * _NS
    late.devices[one.device] = late.devices.get(one.device, 0.0) + one.wait * _NS
    if one.host > 0:
        late.lines[one.line] = late.lines.get(one.line, 0.0) + one.host * _NS


@dataclass(frozen=True, slots=True)
class _Timeline:
    """Everything that may delay a device, by process."""

    groups: _Groups
    devices: _Devices
    runs: Mapping[int, Mapping[int, Sequence[tuple[float, float]]]]
    stays: Mapping[int, Sequence[LineStay]]
    shift: Mapping[int, float]
    origin: float

    def arrival(self, group: int, members: Sequence[_Member]) -> _Arrival:
        """The last device, against the median of those of the other processes."""
        arrived = sorted((m.start - self.shift[m.process], m) for m in members)
        at, last = arrived[-1]
        others = [(start, m) for start, m in arrived if m.process != last.process]
        waiting = {m.process: at - start for start, m in others}
        reference, other = others[(len(others) - 1) // 2]
        idle, usual = self._idle(last, group), _length(self._idle(other, group))
        host = min(max(_length(idle) - usual, 0.0), at - reference)
        line = _line(self.stays[last.process], idle) if host > 0 else ""
        return _Arrival(last.process, last.device, at - reference, host, line, waiting)

    def _idle(self, member: _Member, group: int) -> list[tuple[float, float]]:
        """Times without a program since the last time together, on the clock of the process."""
        began = _synced(self.devices, member, group, self.groups)
        began = self.origin + self.shift[member.process] if began is None else began
        return _idle(self.runs[member.process].get(member.device, ()), began, member.start)


def _groups(traces: Sequence[ProcessTrace]) -> _Groups:
    found = _Groups([], {})
    seen: set[tuple[str, str, tuple[tuple[int, ...], ...]]] = set()
    numbers: dict[frozenset[int], int] = {}
    for trace in traces:
        for one in trace.groups:
            if one in seen:
                continue
            seen.add(one)
            module, name, groups = one
            for group in map(frozenset, groups):
                number = numbers.setdefault(group, len(numbers))
                if number == len(found.members):
                    found.members.append(group)
                for device in group:
                    key = module, name, device
                    if found.of.setdefault(key, number) != number:
                        found.of[key] = _NONE
    return found


def _mismatch(traces: Sequence[ProcessTrace], groups: _Groups) -> str:
    """The first collective that is not the same on two processes of a group."""
    firsts: dict[int, tuple[int, list[tuple[str, str]]]] = {}
    for trace in traces:
        sequences: dict[int, dict[int, list[tuple[str, str]]]] = defaultdict(dict)
        for one in sorted(trace.collectives, key=lambda one: one.start):
            group = groups.of.get((one.module, one.name, one.device), _NONE)
            sequences[group].setdefault(one.device, []).append((one.module, one.name))
        for group, by_device in sequences.items():
            mine = by_device[min(by_device)]
            process, first = firsts.setdefault(group, (trace.process, mine))
            if first != mine:
                return order_difference(process, first, trace.process, mine)
    return ""


def _joined(
    traces: Sequence[ProcessTrace], groups: _Groups
) -> tuple[list[list[tuple[int, list[_Member]]]], _Devices]:
    """Collectives that join processes, the groups of each, and all collectives of each device."""
    found: dict[tuple[int, str, str, int], list[_Member]] = defaultdict(list)
    devices: _Devices = defaultdict(list)
    for trace in traces:
        counts: dict[tuple[str, str, int], int] = defaultdict(int)
        for one in sorted(trace.collectives, key=lambda one: one.start):
            key = (one.module, one.name, one.device)
            group = groups.of.get(key, _NONE)
            mine = devices[trace.process, one.device]
            member = _Member(trace.process, one.device, one.start, one.end, len(mine))
            mine.append((one.end, group))
            found[group, one.module, one.name, counts[key]].append(member)
            counts[key] += 1
    joined: dict[tuple[str, str, int], list[tuple[int, list[_Member]]]] = defaultdict(list)
    for (group, module, name, number), members in found.items():
        whole = group != _NONE and len(members) == len(groups.members[group])
        if whole and len({member.process for member in members}) > 1:
            joined[module, name, number].append((group, members))
    return list(joined.values()), devices


def _clocks(
    traces: Sequence[ProcessTrace], joined: Sequence[tuple[int, list[_Member]]]
) -> tuple[ClockOffset, ...]:
    """Offsets from shared collectives, from process to process."""
    edges: dict[int, dict[int, ClockPair]] = defaultdict(dict)
    for _, members in joined:
        seen: dict[int, Passage] = {}
        for one in members:
            before = seen.get(one.process, Passage(one.start, one.end, one.end))
            seen[one.process] = before.joined(one.start, one.end)
        first = min(seen)
        for process, passage in seen.items():
            if process != first:
                edges[first].setdefault(process, ClockPair()).add(seen[first], passage)
                edges[process].setdefault(first, ClockPair()).add(passage, seen[first])
    lowest = min((trace.process for trace in traces), default=0)
    known: dict[int, tuple[float, float]] = {lowest: (0.0, 0.0)}
    waiting = [lowest]
    while waiting:
        here = waiting.pop(0)
        for process, pair in edges[here].items():
            if process not in known:
                offset, error = pair.offset()
                known[process] = known[here][0] + offset, known[here][1] + error
                waiting.append(process)
    found: list[ClockOffset] = []
    for trace in traces:
        offset, error = known.get(trace.process, (None, 0.0))
        seconds = None if offset is None else offset * _NS
        found.append(ClockOffset(trace.process, seconds, error * _NS))
    return tuple(found)


def _by_device(runs: Sequence[DeviceRun]) -> dict[int, list[tuple[float, float]]]:
    """Times in which each device was busy, without overlaps."""
    found: dict[int, list[tuple[float, float]]] = defaultdict(list)
    for run in sorted(runs):
        mine = found[run.device]
        if mine and run.start <= mine[-1][1]:
            mine[-1] = mine[-1][0], max(mine[-1][1], run.end)
        else:
            mine.append((run.start, run.end))
    return found


def _synced(devices: _Devices, member: _Member, group: int, groups: _Groups) -> float | None:
    """The latest end of a collective that all devices of the group left; None before the first."""
    for end, other in reversed(devices[member.process, member.device][: member.before]):
        if other == group:
            return end
        if other != _NONE and groups.members[other] >= groups.members[group]:
            return end
    return None


def _idle(
    runs: Sequence[tuple[float, float]], began: float, until: float
) -> list[tuple[float, float]]:
    """Times between the two in which the device had no program to run."""
    found: list[tuple[float, float]] = []
    free = began
    index = max(bisect.bisect_right(runs, (began, float("inf"))) - 1, 0)
    for start, end in runs[index:]:
        if start >= until:
            break
        if start > free:
            found.append((free, start))
        free = max(free, end)
    return [*found, (free, until)] if until > free else found


def _length(times: Sequence[tuple[float, float]]) -> float:
    return sum(end - start for start, end in times)


def _line(stays: Sequence[LineStay], times: Sequence[tuple[float, float]]) -> str:
    """The line at which the main thread was longest in these times; empty when unknown."""
    found: dict[str, float] = defaultdict(float)
    for began, until in times:
        index = max(bisect.bisect_right(stays, began, key=lambda stay: stay.start) - 1, 0)
        for number, stay in enumerate(stays[index:], index):
            if stay.start >= until:
                break
            end = stays[number + 1].start if number + 1 < len(stays) else until
            text = f"compiling at {stay.where}" if stay.doing == "compiling" else stay.where
            found[text] += max(min(end, until) - max(stay.start, began), 0.0)
    return max(found, key=lambda text: found[text]) if found else ""
