"""Kernels, streams and copies, from the events of a GPU's streams.

Source of the names: xla/backends/profiler/gpu/cupti_collector.cc. An event is one kernel or one
copy: `hlo_op` is its instruction, `memcpy_details` describes the copy, and
`theoretical_occupancy_pct` is the occupancy. Lines are `Stream #7(Compute,MemcpyH2D)`.
"""

import collections
import re
import statistics
from collections.abc import Iterable, Sequence

from jaxscope.analysis.trace.event import TraceEvent
from jaxscope.model.profile import DeviceActivity, Kernel, Stream, Transfer

_NS = 1e-9
_DEVICE = re.compile(r"/device:[A-Z]+:(\d+) (.*)", re.S)
_STREAM = "Stream #"
_COPIES = (
    ("H2D", "host to device"),
    ("D2H", "device to host"),
    ("P2P", "between devices"),
    ("D2D", "device to device"),
)
_SIZE = re.compile(r"\b(?:size|num_bytes):(\d+)")


def device_activity(events: Iterable[TraceEvent], calls: str) -> DeviceActivity | None:
    """Activity of the streams of all devices, per call; None where no device wrote events.

    `calls` is the name of the events that span the calls; events outside them are excluded.
    """
    found = _by_call(events, calls)
    mine = [row for call in found for row in call]
    if not mine:
        return None
    number = len(found)
    return DeviceActivity(
        _kernels([event for *_, event in mine], number),
        _streams(mine, number),
        _transfers([event for *_, event in mine], number),
        sum(in_graph(event) for *_, event in mine) / number,
    )


def _by_call(events: Iterable[TraceEvent], calls: str) -> list[list[tuple[int, str, TraceEvent]]]:
    """Device, stream and event of what each call ran on the streams, by start."""
    known = list(events)
    spans = sorted((event.start, event.end) for event in known if event.name == calls)
    found: list[list[tuple[int, str, TraceEvent]]] = [[] for _ in spans]
    for event in known:
        match = _DEVICE.match(event.thread)
        # Other lines of such a plane ("XLA Ops", "Steps") repeat the streams.
        if match is None or not match[2].startswith(_STREAM):
            continue
        index = next((i for i, (a, b) in enumerate(spans) if a <= event.start <= b), None)
        if index is not None:
            found[index].append((int(match[1]), match[2], event))
    for call in found:
        call.sort(key=lambda row: row[2].start)
    return found


COMMAND_BUFFER = "command_buffer"
"""XLA's name of the instructions that it launches as one CUDA graph: `command_buffer_1`."""


def in_graph(event: TraceEvent) -> bool:
    """Whether a CUDA graph ran this kernel without naming its instruction."""
    graph = any(key.startswith("cuda_graph") for key in event.stats)
    operation = str(event.stats.get("hlo_op", ""))
    return graph and (not operation or operation.startswith(COMMAND_BUFFER))


def hidden_in_graphs(events: Iterable[TraceEvent]) -> int:
    """The number of kernels that ran in CUDA graphs without naming their instruction.

    The host's event of the launch names its graph, too.
    """
    return sum(in_graph(event) for event in events if event.thread.startswith("/device:"))


def _kernels(events: Sequence[TraceEvent], calls: int) -> tuple[Kernel, ...]:
    groups: dict[tuple[str, str], list[TraceEvent]] = collections.defaultdict(list)
    for event in events:
        if _copy(event) is None:
            groups[str(event.stats.get("hlo_op", "")), event.name].append(event)
    rows = [
        Kernel(
            op,
            name,
            sum(event.end - event.start for event in group) * _NS / calls,
            len(group) / calls,
            _occupancy(group),
        )
        for (op, name), group in groups.items()
    ]
    return tuple(sorted(rows, key=lambda row: -row.seconds))


def _occupancy(events: Sequence[TraceEvent]) -> float | None:
    found: list[float] = []
    for event in events:
        value = event.stats.get("theoretical_occupancy_pct")
        if isinstance(value, (int, float)):
            found.append(float(value) / 100)
    return statistics.fmean(found) if found else None


def _streams(events: Iterable[tuple[int, str, TraceEvent]], calls: int) -> tuple[Stream, ...]:
    groups: dict[tuple[int, str], list[TraceEvent]] = collections.defaultdict(list)
    for device, name, event in events:
        groups[device, name].append(event)
    return tuple(
        Stream(device, name, _busy(group) * _NS / calls, len(group) / calls)
        for (device, name), group in sorted(groups.items())
    )


def _busy(events: Iterable[TraceEvent]) -> float:
    """ns in which at least one event ran."""
    total, until = 0.0, float("-inf")
    for event in sorted(events, key=lambda event: event.start):
        total += max(event.end - max(event.start, until), 0.0)
        until = max(until, event.end)
    return total


def _transfers(events: Iterable[TraceEvent], calls: int) -> tuple[Transfer, ...]:
    groups: dict[str, list[TraceEvent]] = collections.defaultdict(list)
    for event in events:
        kind = _copy(event)
        if kind is not None:
            groups[kind].append(event)
    rows = [
        Transfer(
            kind,
            sum(event.end - event.start for event in group) * _NS / calls,
            sum(
                int(size[1])
                for event in group
                if (size := _SIZE.search(str(event.stats.get("memcpy_details", ""))))
            )
            / calls,
            len(group) / calls,
        )
        for kind, group in groups.items()
    ]
    return tuple(sorted(rows, key=lambda row: -row.seconds))


def _copy(event: TraceEvent) -> str | None:
    """The kind of copy of an event; None for a kernel."""
    if "memcpy_details" not in event.stats and not event.name.lower().startswith("memcpy"):
        return None
    return next((words for short, words in _COPIES if short in event.name), "copy")
