"""A log of one block, with the session's listener if there is one."""

from __future__ import annotations

import contextlib
import dataclasses
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from jaxscope import words
from jaxscope.capture.compile_log.log import build_log, caveats
from jaxscope.capture.compile_log.slow_calls import SlowPath, sentence
from jaxscope.capture.compiles import guards
from jaxscope.capture.compiles.listener import Listener
from jaxscope.capture.compiles.raw_compile import RawCompile
from jaxscope.model import Record, TextSource, Unavailable
from jaxscope.model.compile_log import Log
from jaxscope.model.compiles import UNOBSERVED

if TYPE_CHECKING:
    from jaxscope.model.compiler.compile_time import CompileTime

_SHOWN = 5  # slow calls with a note


class Clock(Protocol):
    """A clock of compilations between `begin` and `end`; none of its methods raises."""

    def begin(self) -> None: ...
    def end(self) -> None: ...
    def found(self, place: Callable[[str, int], str]) -> CompileTime | Unavailable:
        """The compile time by line, after the end."""
        ...


MakeClock = Callable[[Listener], Clock]


class Watch:
    """The compilations of all threads between `begin` and `end`.

    Neither raises: a watch that fails has an empty log, with a note that gives the reason.
    """

    def __init__(
        self, *, slow_path: bool = False, guard: bool = False, clock: MakeClock | None = None
    ) -> None:
        """`slow_path`: also look for calls that are slow though nothing compiles. `guard`: without
        the compilations of other tasks and threads that have a guard of their own. `clock`:
        makes a clock for those of this thread."""
        self._make_clock = clock
        self._clock: Clock | None = None
        self._clocked: CompileTime | Unavailable | None = None
        self._guard: int | None = None
        self._guards = guard
        self._slow: SlowPath | None = None
        self._look = slow_path
        self._listener: Listener | None = None
        self._since = 0
        self._losses = 0
        self._began = time.time()
        self._raws: tuple[RawCompile, ...] | None = None
        self._notes: tuple[str, ...] = ()

    def begin(self) -> None:
        """Listen, with the registered listener if there is one: it has the earlier compilations."""
        try:
            listener = Listener.shared()
            self._listener = listener.__enter__()
            self._since, self._losses = listener.count, listener.losses
            if self._guards:
                self._guard = guards.enter()
            if self._make_clock is not None:
                self._clock = self._make_clock(listener)
                self._clock.begin()
            if self._look:
                self._slow = SlowPath(lambda: listener.compile_count)
                self._slow.begin()
        except Exception as error:
            why = f"jaxscope could not listen ({type(error).__name__}: {error})"
            self._notes = (f"{UNOBSERVED}{why}.",)

    def end(self) -> None:
        """Stop listening; the compilations are kept."""
        listener = self._listener
        if self._clock is not None:
            self._clock.end()
        if self._guard is not None:
            guards.leave(self._guard)
        if self._slow is not None:
            with contextlib.suppress(Exception):
                self._slow.end()
        if listener is None or self._raws is not None:
            return
        try:
            self._raws, self._notes = self._read(listener)
        except Exception as error:
            self._raws = ()
            why = f"jaxscope could not finish its log ({type(error).__name__}: {error})"
            self._notes = (f"{UNOBSERVED}{why}.",)
        finally:
            with contextlib.suppress(Exception):
                listener.__exit__()

    def compile_time(self) -> CompileTime | Unavailable:
        """Compile time by line, after the end."""
        if self._clocked is None:
            if self._clock is None or self._listener is None or self._raws is None:
                return Unavailable("the block has not ended")
            places = self._listener.places
            self._clocked = self._clock.found(lambda f, n: f"{places.name(f, sys.maxsize)}:{n}")
            self._clock = None
        return self._clocked

    def raws(self) -> tuple[tuple[RawCompile, ...], tuple[str, ...]]:
        """The compilations so far, or all after the end, and the caveats."""
        if self._raws is not None or self._listener is None:
            return self._raws or (), self._notes
        return self._read(self._listener)

    def program(self, serial: int) -> tuple[Record, tuple[TextSource, ...]]:
        """The record and texts of a compilation's program; LookupError when it was released."""
        from jaxscope.capture.compile_log.open_program import program_of

        if self._listener is None:
            raise LookupError("jaxscope was not listening, so there is no program to show.")
        places = self._listener.places

        def cell_name(file: str) -> str | None:
            return None if places.number(file, serial) is None else places.name(file, serial)

        return program_of(self._listener, serial, cell_name)

    def log(self) -> Log:
        """The log as data."""
        raws, notes = self.raws()
        if self._listener is None:
            return Log("", (), notes=notes)
        found = build_log(self._listener, raws, self._began, notes)
        if self._slow is None:
            return found
        places = self._listener.places
        return _with_slow_calls(found, self._slow, lambda file: places.name(file, sys.maxsize))

    def _read(self, listener: Listener) -> tuple[tuple[RawCompile, ...], tuple[str, ...]]:
        listener.listen_again()
        raws, notes = listener.since(self._since), caveats(listener, self._since, self._losses)
        if self._guard is None:
            return raws, notes
        unclear = sum(1 for raw in raws if raw.compiled and not raw.guards)
        if unclear:
            what = words.count(unclear, "compilation")
            note = (
                f"{what} outside every guard while several were open: not counted; "
                "run such work in a copy of the context, as `asyncio.to_thread` does."
            )
            notes = (*notes, note)
        return tuple([raw for raw in raws if self._guard in raw.guards]), notes


def _with_slow_calls(log: Log, slow: SlowPath, name: Callable[[str], str]) -> Log:
    calls = slow.calls()
    notes = [sentence(call, name) for call in calls[:_SHOWN]]
    if len(calls) > _SHOWN:
        notes.append(f"`log.slow_calls` has {len(calls) - _SHOWN} more.")
    if slow.note:
        notes.append(slow.note)
    return dataclasses.replace(log, slow_calls=calls, notes=(*log.notes, *notes))
