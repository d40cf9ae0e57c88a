"""The memory plan of a compiled program, from XLA's `HloProto`.

The profiler's trace contains an `HloProto` for every live module: the module, its buffer
assignment, and the heap simulator's trace of allocations and releases by instruction. Source of the
field numbers: xla/service/hlo.proto and tsl/profiler/protobuf/xplane.proto.
"""

import collections
from collections.abc import Mapping

from jaxscope.analysis import protobuf as pb
from jaxscope.model.profile import BufferTimeline, HeapStep, LiveBuffer, SourceLine

# XSpace.planes, XPlane.name, XPlane.event_metadata (a map: value = 2), XEventMetadata.name and
# .stats, XStat.bytes_value.
_PLANES, _PLANE_NAME, _METADATA, _VALUE, _NAME, _STATS, _BYTES = 1, 2, 4, 2, 2, 5, 6
_ASSIGNMENT = 3  # HloProto.buffer_assignment
_BUFFERS, _ALLOCATIONS, _TRACES = 1, 3, 4  # of BufferAssignmentProto
_ID, _SIZE = 1, 2
_THREAD_LOCAL, _PARAMETER, _LIVE_OUT, _CONSTANT = 3, 5, 7, 12  # of BufferAllocationProto
_EVENTS, _KIND, _BUFFER, _INSTRUCTION, _SHARED = 1, 1, 2, 4, 5  # of HeapSimulatorTrace
_ALLOCATE, _FREE, _SHARE = 0, 1, 2

_METADATA_PLANE = "/host:metadata"


def module_messages(xspace: bytes) -> dict[str, memoryview]:
    """`jit_f(7)` → HloProto of every module in a trace that was recorded with them."""
    found: dict[str, memoryview] = {}
    for plane in pb.submessages(xspace, _PLANES):
        if pb.text(plane, _PLANE_NAME) != _METADATA_PLANE:
            continue
        for entry in pb.submessages(plane, _METADATA):
            metadata = pb.submessage(entry, _VALUE)
            for stat in pb.submessages(metadata, _STATS):
                message = pb.submessage(stat, _BYTES)
                if len(message):
                    found[pb.text(metadata, _NAME)] = message
    return found


def timeline(
    message: bytes | memoryview,
    places: Mapping[str, SourceLine],
    inside: Mapping[str, SourceLine] | None = None,
) -> BufferTimeline | None:
    """The plan of one module, from its HloProto; None where it has no heap trace.

    `inside` has the lines of other sources, by instruction. jaxlib before 0.10.2 writes no heap
    trace. A program without temporaries has none either: its timeline is empty.
    """
    assignment = pb.submessage(message, _ASSIGNMENT)
    static = temp = 0
    for allocation in pb.submessages(assignment, _ALLOCATIONS):
        flags = {key: value for key, value in pb.fields(allocation) if isinstance(value, int)}
        if flags.get(_THREAD_LOCAL):
            continue
        if flags.get(_PARAMETER) or flags.get(_LIVE_OUT) or flags.get(_CONSTANT):
            static += flags.get(_SIZE, 0)
        else:
            temp += flags.get(_SIZE, 0)
    sizes = {
        pb.number(buffer, _ID): pb.number(buffer, _SIZE)
        for buffer in pb.submessages(assignment, _BUFFERS)
    }
    traces = list(pb.submessages(assignment, _TRACES))
    if temp and not traces:
        return None
    heap = _Heap(sizes)
    for trace in traces:
        for event in pb.submessages(trace, _EVENTS):
            heap.step(
                pb.number(event, _KIND),
                pb.number(event, _BUFFER),
                pb.text(event, _INSTRUCTION),
                pb.number(event, _SHARED),
            )
    alive = tuple(
        LiveBuffer(name, size, places.get(name), (inside or {}).get(name))
        for name, size in sorted(heap.at_peak, key=lambda item: -item[1])
    )
    return BufferTimeline(static, temp, tuple(heap.steps), heap.peak_at, alive)


class _Heap:
    """Replays the heap simulator's events; buffers that share memory count once."""

    def __init__(self, sizes: Mapping[int, int]) -> None:
        self._sizes = sizes
        self._owner: dict[int, int] = {}
        self._users: collections.Counter[int] = collections.Counter()
        self._made: dict[int, str] = {}
        self._live = self._peak = 0
        self.steps: list[HeapStep] = []
        self.peak_at = ""
        self.at_peak: list[tuple[str, int]] = []

    def step(self, kind: int, buffer: int, instruction: str, shared: int) -> None:
        if kind == _ALLOCATE:
            self._use(buffer, buffer, instruction)
        elif kind == _SHARE:
            self._use(buffer, self._owner.get(shared, shared), instruction)
        elif kind == _FREE:
            owner = self._owner.get(buffer, buffer)
            self._users[owner] -= 1
            if not self._users[owner]:
                self._live -= self._sizes.get(owner, 0)
        self.steps.append(HeapStep(instruction, self._live))
        if self._live > self._peak:
            self._peak, self.peak_at = self._live, instruction
            self.at_peak = [
                (self._made[owner], self._sizes.get(owner, 0))
                for owner, users in self._users.items()
                if users
            ]

    def _use(self, buffer: int, owner: int, instruction: str) -> None:
        self._owner[buffer] = owner
        if not self._users[owner]:
            self._live += self._sizes.get(owner, 0)
            self._made[owner] = instruction
        self._users[owner] += 1
