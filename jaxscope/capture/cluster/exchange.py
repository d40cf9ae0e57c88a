"""Prints of one compilation, compared over all processes through a key-value store.

At most five operations per process where all programs are equal, and the keys are removed:

    start   count this print     the first of all stores its print as the reference
    guard   wait for the answer  the last to arrive gives it
    end     count the schedule   the first stores it; the last removes all keys
    guard   wait for the answer  instead of the schedule

At the end the count has two parts: arrivals, and above them the sum of hashes of the schedule, so
that the last to arrive knows from one number whether all are equal.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from jaxscope.analysis.cluster import divergence
from jaxscope.analysis.cluster.schedule import schedule_difference
from jaxscope.model.cluster import (
    CodePlace,
    CollectiveOp,
    CompiledPrint,
    DivergenceKind,
    ProcessState,
    ProgramDifference,
    ProgramPrint,
)

_OK = "ok"
_SLICE_S = 2.0
"""A wait is cut into slices of this length, so that Ctrl-C is not kept waiting."""
_TELL_S = 0.3
"""The keys of a failed compilation stay so long, for processes that still wait for its answer."""
REMOVE_S = 2.0
"""Those of a finished one, for processes that have not read the answer yet."""
_COUNT_BITS = 31
"""The service reads a count as a signed integer of 32 bits, and fails beyond (jaxlib 0.10.2)."""


class Store(Protocol):
    """The key-value store of the coordination service."""

    def add(self, key: str, value: str) -> bool:
        """Store a value; False, and nothing is changed, where the key has one."""
        ...

    def put(self, key: str, value: str) -> None:
        """Store a value in place of any other."""
        ...

    def get(self, key: str) -> str | None: ...

    def count(self, key: str, by: int) -> int:
        """Add to a number, and return the sum."""
        ...

    def wait(self, key: str, seconds: float) -> str | None:
        """The value as soon as there is one; None after that time."""
        ...

    def remove(self, folder: str) -> None: ...

    def folder(self, folder: str) -> list[str]:
        """All values below a folder."""
        ...


@dataclass(frozen=True, slots=True)
class Found:
    """The comparison at the start of a compilation."""

    difference: ProgramDifference | None
    own: bool = True
    """Whether this process noticed it; else another did, which also reports it."""
    reached: bool = True
    """Whether all processes arrived. Else the position is free for the next compilation."""


class Exchange:
    """The comparison of one compilation on this process."""

    def __init__(self, store: Store, base: str, processes: int) -> None:
        self._store, self._base, self._processes = store, base, processes
        self._name, self._compares, self._last = "", True, False
        self.finished = False
        """Whether this process is the last one, and is to `remove` the keys after `REMOVE_S`."""

    def start(self, mine: ProgramPrint) -> ProgramDifference | None:
        """Publish the program; the difference to the reference, if this process notices one."""
        self._name = mine.name
        arrived = self._count("at", mine.key, 1)
        if arrived == 1:
            if self._store.add(self._key("first"), encoded(mine)):
                return None
            return self._unlike_first(mine)
        self._answer(arrived)
        return None

    def _unlike_first(self, mine: ProgramPrint) -> ProgramDifference | None:
        first = program_print(self._store.get(self._key("first")))
        found = None if first is None else divergence.difference(first, mine)
        if first is None or found is None:
            return None
        if found.kind is DivergenceKind.FLAGS:  # whether it matters is known after compilation
            self._answer(self._count("at", first.key, 1))
        else:
            self._compares = False
            self._store.add(self._key("go"), encoded(found))
        return found

    def _answer(self, arrived: int) -> None:
        if arrived == self._processes:
            self._store.add(self._key("go"), _OK)
            self._last = True

    def wait(
        self, mine: ProgramPrint, seconds: float, others: Callable[[], Sequence[ProcessState]]
    ) -> Found:
        """Wait until all processes arrived, or one of them noticed a difference."""
        if self._last:
            return Found(None)
        answer = self._await("go", seconds)
        if answer is not None:
            return self._told(answer)
        arrived = self._count("at", mine.key, 0)
        found = divergence.missing(mine.name, arrived, self._processes, mine.place, others())
        if self._store.add(self._key("go"), encoded(found)):
            time.sleep(_TELL_S)
            self._store.remove(self._base)
            return Found(found, reached=False)
        return self._told(self._store.get(self._key("go")) or encoded(found))

    def _told(self, answer: str) -> Found:
        if answer == _OK:
            return Found(None)
        found = _difference(answer)
        return Found(found, own=False, reached=found.kind is not DivergenceKind.MISSING)

    def _await(self, name: str, seconds: float) -> str | None:
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            answer = self._store.wait(self._key(name), min(left, _SLICE_S))
            if answer is not None:
                return answer
        return None

    def compiled(self, mine: CompiledPrint, guard_s: float | None) -> Found:
        """Compare the collectives of the compiled program; with a guard, wait for all processes."""
        if not self._compares:
            return Found(None)
        schedule = json.dumps([[one.opcode, one.shape, one.groups] for one in mine.collectives])
        bits = self._processes.bit_length()
        hashed = int(_digest(schedule), 16) % (1 << max(1, _COUNT_BITS - 2 * bits))
        step = 1 + (hashed << bits)
        total = self._store.count(self._key("end"), step)
        arrived = total & ((1 << bits) - 1)
        equal = total == arrived * step
        last = arrived == self._processes
        self.finished = last and (equal or guard_s is not None)
        if guard_s is not None:
            return self._agreed(mine, guard_s, equal) if last else self._told_to_run(mine, guard_s)
        if arrived == 1:
            self._store.add(self._key("schedule"), encoded(mine))
        elif not equal:
            first = compiled_print(self._store.wait(self._key("schedule"), _TELL_S))
            return Found(self._unlike(first, mine))
        return Found(None)

    def _agreed(self, mine: CompiledPrint, guard_s: float, equal: bool) -> Found:
        """The answer of the last process, which the others wait for."""
        self._store.add(self._key("run"), _OK if equal else encoded(mine))
        if equal:
            return Found(None)
        return Found(self._unlike(compiled_print(self._await("schedule", guard_s)), mine))

    def _told_to_run(self, mine: CompiledPrint, guard_s: float) -> Found:
        answer = self._await("run", guard_s)
        if answer in (None, _OK):
            return Found(None)
        last = compiled_print(answer)
        if last is None:
            return Found(_difference(answer), own=False)
        found = self._unlike(last, mine)
        if found is None:  # it compiled what the last one did, and a third process did not
            last = compiled_print(self._await("schedule", guard_s))
            return Found(self._unlike(last, mine), own=False)
        self._store.add(self._key("schedule"), encoded(mine))
        return Found(found, own=False)

    def _unlike(self, one: CompiledPrint | None, two: CompiledPrint) -> ProgramDifference | None:
        if one is None:
            return None
        first, other = sorted((one, two), key=lambda found: found.process)
        return schedule_difference(self._name, first, other)

    def failed(self, process: int, place: CodePlace, error: str) -> None:
        """Tell the processes that wait that this one could not compile the program."""
        if self._compares:
            found = divergence.not_compiled(self._name, process, place, error)
            self._store.add(self._key("run"), encoded(found))

    def remove(self) -> None:
        """Remove all keys of this compilation."""
        self._store.remove(self._base)

    def _key(self, name: str) -> str:
        return f"{self._base}/{name}"

    def _count(self, name: str, what: str, by: int) -> int:
        return self._store.count(self._key(f"{name}/{_digest(what)}"), by)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def encoded(value: Any) -> str:
    """A record of `model.cluster` as JSON, fields in their order."""
    import dataclasses

    return json.dumps(dataclasses.asdict(value), separators=(",", ":"))


def program_print(text: str | None) -> ProgramPrint | None:
    """The record that `encoded` wrote; None for None, or what another version wrote."""
    try:
        data = json.loads(text or "null")
        data["place"] = CodePlace(**data["place"])
        data["operations"] = tuple((str(name), int(count)) for name, count in data["operations"])
        return ProgramPrint(**data)
    except (TypeError, ValueError, KeyError):
        return None


def compiled_print(text: str | None) -> CompiledPrint | None:
    """As `program_print`."""
    try:
        data = json.loads(text or "null")
        data["place"] = CodePlace(**data["place"])
        data["collectives"] = tuple(CollectiveOp(**one) for one in data["collectives"])
        return CompiledPrint(**data)
    except (TypeError, ValueError, KeyError):
        return None


def process_state(text: str) -> ProcessState | None:
    """As `program_print`."""
    try:
        data = json.loads(text)
        data["place"] = CodePlace(**data["place"])
        return ProcessState(**data)
    except (TypeError, ValueError, KeyError):
        return None


def _difference(text: str) -> ProgramDifference:
    data = json.loads(text)
    return ProgramDifference(DivergenceKind(data["kind"]), data["message"])
