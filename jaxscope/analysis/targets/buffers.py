"""XLA's buffer assignment and live ranges, from the texts of its dump.

The dump has them also for a program that did not fit, of which there is no executable. Format:
`BufferAssignment::ToString` and `HloLiveRange::ToString` of XLA, as jaxlib 0.10 and libtpu 0.0.42
write them.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from jaxscope.analysis.hlo import HloModule
from jaxscope.model.compiler.target import BufferRole, HeldBuffer
from jaxscope.model.profile import BufferTimeline, HeapStep, LiveBuffer, SourceLine

MOST_HELD = 40

_ALLOCATION = re.compile(r"allocation \d+: (?:0x[0-9a-f]+, )?size (\d+)((?:, .*)?):$")
_VALUE = re.compile(r" value: <\d+ (\S+?)(\{[\d,]*\})? @\d+> \(size=(\d+),offset=(\d+)\): (.*)$")
_COLOR = re.compile(r", color (\d+)")
_RANGE = re.compile(r"\s+(\S+?)(\{[\d,]*\}):(\d+)-(\d+)$")
_STEP = re.compile(r"\s+(\d+):(\S+)$")


@dataclass(frozen=True, slots=True)
class BufferValue:
    """One value in an allocation."""

    instruction: str
    index: str
    """Of an element of a tuple: `{1}`; else `{}`."""
    bytes: int
    offset: int
    shape: str


@dataclass(frozen=True, slots=True)
class Allocation:
    """One allocation in the device's main memory."""

    bytes: int
    values: tuple[BufferValue, ...]
    static: bool
    """An argument, a result or a constant, alive throughout."""
    argument: bool
    result: bool


@dataclass(frozen=True, slots=True)
class Buffers:
    """The plan of the main memory."""

    allocations: tuple[Allocation, ...]
    sequence: tuple[str, ...]
    """Instructions in the order of the schedule."""
    ranges: Mapping[tuple[str, str], tuple[int, int]]
    """First and last step of each value, by instruction and index."""

    @property
    def needs(self) -> int:
        """Bytes of all allocations."""
        return sum(one.bytes for one in self.allocations)

    @property
    def temp(self) -> int:
        """Bytes of the temporaries."""
        return sum(one.bytes for one in self.allocations if not one.static)


def read_buffers(assignment: str, live_ranges: str) -> Buffers:
    """The plan; raises ValueError for a text without allocations."""
    allocations = tuple(_allocations(assignment.split("\n")))
    if not allocations:
        raise ValueError("the dump has no buffer assignment")
    sequence: list[str] = []
    ranges: dict[tuple[str, str], tuple[int, int]] = {}
    section = ""
    for line in live_ranges.split("\n"):
        heading = line.strip()
        if heading.endswith(":") and not _STEP.match(line):
            section = heading
        elif section == "InstructionSequence:" and (step := _STEP.match(line)):
            sequence.append(step[2])
        elif section == "BufferLiveRange:" and (found := _RANGE.match(line)):
            ranges[found[1], found[2]] = int(found[3]), int(found[4])
    return Buffers(allocations, tuple(sequence), ranges)


def _allocations(lines: Iterable[str]) -> Iterable[Allocation]:
    opened: tuple[int, str] | None = None
    values: list[BufferValue] = []
    for line in [*lines, ""]:
        if opened is not None and (value := _VALUE.match(line)):
            name, index, size, offset, shape = value.groups()
            values.append(BufferValue(name, index or "{}", int(size), int(offset), shape))
            continue
        if opened is not None:
            size, flags = opened
            color = _COLOR.search(flags)
            # Other colors are on-chip memories; buffers of a thread are inside a kernel.
            if "thread-local" not in flags and (color is None or color[1] == "0"):
                argument, result = ", parameter " in flags, "live-out" in flags
                static = argument or result or ", constant" in flags
                yield Allocation(size, tuple(values), static, argument, result)
            opened, values = None, []
        if start := _ALLOCATION.match(line):
            opened = int(start[1]), start[2]


_Slot = tuple[int, int]
"""Number of an allocation, and an offset in it: values there share their bytes."""


_Live = tuple[int, int, BufferValue]
"""First and last step of a value."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """Live bytes of the temporaries, step by step."""

    steps: tuple[HeapStep, ...]
    peak_at: str
    alive: tuple[BufferValue, ...]
    """At the peak, the largest first."""


def schedule(buffers: Buffers) -> Schedule | None:
    """The temporaries over the schedule; None where the dump has no live ranges."""
    temporary = [one for one in buffers.allocations if not one.static]
    if temporary and not (buffers.sequence and buffers.ranges):
        return None
    slots: dict[_Slot, list[_Live]] = defaultdict(list)
    for number, allocation in enumerate(temporary):
        for value in allocation.values:
            live = buffers.ranges.get((value.instruction, value.index))
            if live is not None:
                slots[number, value.offset].append((*live, value))
    count = len(buffers.sequence)
    change = [0] * (count + 2)
    for values in slots.values():
        for first, last, size in _merged(values):
            change[min(first, count)] += size
            change[min(last, count) + 1] -= size
    steps: list[HeapStep] = []
    live = 0
    for number, name in enumerate(buffers.sequence):
        live += change[number]
        steps.append(HeapStep(name, live))
    peak = max(range(count), key=lambda n: steps[n].live) if count else 0
    if not count or not steps[peak].live:
        return Schedule((), "", ())
    alive = sorted(_alive(slots, peak), key=lambda value: -value.bytes)
    return Schedule(tuple(steps), buffers.sequence[peak], tuple(alive))


def timeline(
    buffers: Buffers,
    found: Schedule,
    places: Mapping[str, SourceLine],
    inside: Mapping[str, SourceLine],
    module: HloModule | None = None,
) -> BufferTimeline:
    """The schedule with the lines of instructions, of the first source and of others."""
    made = [(value, maker(module, value)) for value in found.alive]
    alive = tuple(
        LiveBuffer(value.instruction, value.bytes, places.get(name), inside.get(name))
        for value, name in made
    )
    static = buffers.needs - buffers.temp
    return BufferTimeline(static, buffers.temp, found.steps, found.peak_at, alive)


def held_buffers(
    buffers: Buffers,
    found: Schedule | None,
    places: Mapping[str, SourceLine],
    names: Mapping[str, str],
    module: HloModule | None = None,
) -> tuple[HeldBuffer, ...]:
    """The largest buffers at the peak; `names` are inputs by parameter."""
    rows = [(v, BufferRole.TEMPORARY) for v in (() if found is None else found.alive)]
    for one in buffers.allocations:
        if one.static and one.values and (one.argument or one.result):
            role = BufferRole.ARGUMENT if one.argument else BufferRole.RESULT
            rows.append((max(one.values, key=lambda value: value.bytes), role))
    rows.sort(key=lambda row: -row[0].bytes)
    return tuple([
        HeldBuffer(
            value.instruction,
            role,
            value.bytes,
            place=places.get(maker(module, value)),
            name=names.get(value.instruction, "") if role is BufferRole.ARGUMENT else "",
        )
        for value, role in rows[:MOST_HELD]
    ])  # fmt: skip


def maker(module: HloModule | None, value: BufferValue) -> str:
    """The instruction that makes a value: of one result of several of a fusion, that inside it."""
    fusion = None if module is None else module.instruction(value.instruction)
    index = value.index.strip("{}")
    if module is None or fusion is None or fusion.opcode != "fusion" or not index.isdigit():
        return value.instruction
    roots = [called.root for called in module.called(fusion)]
    made = [module.operands(root) for root in roots if root.opcode == "tuple"]
    return made[0][int(index)].name if made and int(index) < len(made[0]) else value.instruction


def _merged(values: list[_Live]) -> Iterable[tuple[int, int, int]]:
    """Intervals in which the bytes of a slot are in use; values that overlap share them."""
    opened: tuple[int, int, int] | None = None
    for first, last, value in sorted(values, key=lambda one: one[:2]):
        if opened is not None and first <= opened[1]:
            opened = opened[0], max(opened[1], last), max(opened[2], value.bytes)
        else:
            if opened is not None:
                yield opened
            opened = first, last, value.bytes
    if opened is not None:
        yield opened


def _alive(slots: Mapping[_Slot, list[_Live]], step: int) -> Iterable[BufferValue]:
    """The value of each slot at a step: of those that share it, the first."""
    for values in slots.values():
        found = [one for one in values if one[0] <= step <= one[1]]
        if found:
            yield min(found, key=lambda one: (-one[2].bytes, one[0]))[2]
