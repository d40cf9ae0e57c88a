"""Prints of one compilation, compared over all processes through a key-value store.

At most five operations per process where all programs are equal, and the keys are removed:

    start   count this print     the first of all stores its print as the reference
    guard   wait for the answer  the last to arrive gives it
    end     count the schedule   the first stores it, the last removes all keys

A count has two halves: arrivals, and above them arrivals with other flags.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from jaxscope.analysis.cluster import divergence
from jaxscope.model.cluster import (
    CodePlace,
    CollectiveOp,
    CompiledPrint,
    DivergenceKind,
    ProcessState,
    ProgramDifference,
    ProgramPrint,
)

_OTHER_FLAGS = 1 << 32
_OK = "ok"
_SLICE_S = 2.0
"""A wait is cut into slices of this length, so that Ctrl-C is not kept waiting."""
_TELL_S = 0.3
"""The keys of a failed compilation stay so long, for processes that still wait for its answer."""


class Divergence(RuntimeError):
    """Processes do different things; raised on each of them before the program runs."""

    def __init__(self, found: ProgramDifference) -> None:
        super().__init__(found.message)
        self.kind = found.kind


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

    def __init__(self, store: Store, base: str, processes: int, before: str = "") -> None:
        self._store, self._base, self._processes = store, base, processes
        self._before = before
        """The folder of the compilation before: the first to end may write after the last."""
        self._name, self._compares = "", True
        self._flags_differ = False

    def start(self, mine: ProgramPrint) -> ProgramDifference | None:
        """Publish the program; the difference to the reference, if this process notices one."""
        self._name = mine.name
        arrived = self._count("at", mine.key, 1)
        if arrived % _OTHER_FLAGS == 1:
            if self._store.add(self._key("first"), encoded(mine)):
                return None
            found = self._unlike_first(mine)
            if found is not None:
                return found
            return None
        self._answer(arrived)
        return None

    def _unlike_first(self, mine: ProgramPrint) -> ProgramDifference | None:
        first = program_print(self._store.get(self._key("first")))
        found = None if first is None else divergence.difference(first, mine)
        if first is None or found is None:
            return None
        if found.kind is DivergenceKind.FLAGS:  # whether it matters is known after compilation
            self._answer(self._count("at", first.key, 1 + _OTHER_FLAGS))
        else:
            self._compares = False
            self._store.add(self._key("go"), encoded(found))
        return found

    def _answer(self, arrived: int) -> None:
        if arrived % _OTHER_FLAGS == self._processes:
            flags = arrived >= _OTHER_FLAGS
            self._flags_differ = flags
            self._store.add(self._key("go"), DivergenceKind.FLAGS if flags else _OK)
            self._last = True

    _last = False

    def wait(
        self, mine: ProgramPrint, seconds: float, others: Callable[[], Sequence[ProcessState]]
    ) -> Found:
        """Wait until all processes arrived, or one of them noticed a difference."""
        if self._last:
            return Found(None)
        answer = self._await("go", seconds)
        if answer is not None:
            return self._told(answer)
        arrived = self._count("at", mine.key, 0) % _OTHER_FLAGS
        found = divergence.missing(mine.name, arrived, self._processes, mine.place, others())
        if self._store.add(self._key("go"), encoded(found)):
            time.sleep(_TELL_S)
            self._store.remove(self._base)
            return Found(found, reached=False)
        return self._told(self._store.get(self._key("go")) or encoded(found))

    def _told(self, answer: str) -> Found:
        self._flags_differ = answer == DivergenceKind.FLAGS
        if answer == _OK or self._flags_differ:
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
        """Compare the collectives of the compiled program.

        With a guard, and where flags differ, wait for all processes.
        """
        if not self._compares:
            return Found(None)
        schedule = json.dumps([[one.opcode, one.shape, one.groups] for one in mine.collectives])
        arrived = self._count("end", schedule, 1)
        if arrived == self._processes:
            if not (self._flags_differ and guard_s is not None):
                self._store.remove(self._base)
                if self._before:
                    self._store.remove(self._before)
                return Found(None)
            self._store.add(self._key("run"), _OK)
        elif arrived == 1 and not self._store.add(self._key("schedule"), encoded(mine)):
            first = compiled_print(self._store.get(self._key("schedule")))
            found = first and divergence.schedule_difference(self._name, first, mine)
            if found:
                self._store.add(self._key("run"), encoded(found))
                return Found(found)
        if self._flags_differ and guard_s is not None:
            answer = self._await("run", guard_s)
            if answer not in (None, _OK):
                return Found(_difference(answer), own=False)
        return Found(None)

    def _key(self, name: str) -> str:
        return f"{self._base}/{name}"

    def _count(self, name: str, what: str, by: int) -> int:
        digest = hashlib.sha256(what.encode()).hexdigest()[:16]
        return self._store.count(self._key(f"{name}/{digest}"), by)


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
