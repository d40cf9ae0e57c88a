"""Compare every compilation that spans processes, from JAX's monitoring events.

Events come on a miss only, so a cached call costs nothing. The user's thread only takes the text;
the rest happens in a thread of its own while XLA compiles, unless the guard is on, which holds the
compilation. What fails in here is reported once and never reaches the user's call; with the guard
on, `Divergence` is meant to.
"""

from __future__ import annotations

import hashlib
import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from jaxscope.analysis.cluster import divergence, schedule
from jaxscope.capture._jax import distributed, event_error
from jaxscope.capture.cluster.background import Background
from jaxscope.capture.cluster.exchange import REMOVE_S, Exchange, Found
from jaxscope.capture.cluster.heartbeat import WAITING, Heartbeat
from jaxscope.capture.cluster.place import place_of, running_cell
from jaxscope.capture.cluster.store import JaxStore
from jaxscope.capture.options.divergence import Divergence
from jaxscope.model.cluster import (
    CodePlace,
    CompiledPrint,
    DivergenceKind,
    ProcessState,
    ProgramDifference,
    ProgramPrint,
)

GUARDS = ("off", "warn", "on")
GUARD_S = 20.0
"""The guard waits so long for the other processes."""
SETTLE_S = 1.0
"""The end of a compilation, of a cell and of the process waits so long for comparisons."""
_IN_ORDER = 4
"""After so many compilations in which this process saw no wrong order, the next one is new."""
_EVENT = "/jax/core/compile/backend_compile_duration"
_FLAGS = ("XLA_FLAGS", "LIBTPU_INIT_ARGS")


@dataclass(slots=True)
class _Compiling:
    """A compilation between its two events."""

    text: str
    """Its StableHLO."""
    place: CodePlace
    flags: str
    scope: str
    """Its devices, as a hash."""
    position: int
    """Its number among the compilations for these devices."""
    devices: tuple[int, ...]
    exchange: Exchange
    store: JaxStore
    guarded: bool
    started: threading.Event = field(default_factory=threading.Event)
    """Set when the program was compared."""


class ClusterWatch:
    """The listeners and the heartbeat of this process."""

    def __init__(
        self,
        service: distributed.Service,
        say: Callable[[str], None],
        text_of: Callable[[Any], str] = distributed.plain_text,
    ) -> None:
        self._service = service
        self._text_of = text_of
        self._store = JaxStore(service.client)
        self.process, self.processes = service.process, service.processes
        self._say = say
        self.mode = "warn"
        self.guard_s = GUARD_S
        self.epoch = "0"
        self._next: dict[str, int] = {}
        self._unordered: dict[str, int] = {}
        """The latest position at which an order was found to differ, by scope."""
        self._here = threading.local()
        self._lock = threading.Lock()
        self._failed = False
        self.groups: dict[tuple[str, str], tuple[tuple[int, ...], ...]] = {}
        """Devices of each collective that was compiled, by module and instruction."""
        self.compared = 0
        """Compilations compared so far."""
        self.found: list[str] = []
        """Messages of the divergences so far."""
        self.most_operations = 0
        """The most operations of the key-value store that one compilation took."""
        self.seconds = 0.0
        """Time of the user's thread spent on comparisons, waits included."""
        self._background = Background("jaxscope-compare")
        self.heartbeat = Heartbeat(
            JaxStore(service.client), service.process, service.processes, say
        )

    def start(self) -> None:
        from jax import monitoring

        monitoring.register_scalar_listener(self._on_start)
        monitoring.register_event_duration_secs_listener(self._on_end)
        self.heartbeat.start()

    def settle(self, wait_s: float = SETTLE_S) -> bool:
        """Wait for the comparisons so far, so that their messages come before what follows.

        Whether all of them ended.
        """
        return self._background.settle(wait_s)

    def set_guard(self, mode: str, wait_s: float, epoch: str) -> None:
        """Set the guard; positions count again from 0, under keys of their own."""
        self.settle()
        with self._lock:
            old, self.mode, self.guard_s, self.epoch = self.epoch, mode, wait_s, epoch
            self._next.clear()
            self._unordered.clear()
        if self.process == 0:
            self._store.remove(f"jaxscope/{old}")

    def _on_start(self, event: str, value: float, **_: Any) -> None:
        __tracebackhide__ = True
        if event != _EVENT:
            return
        self._here.compiling = None
        if self.mode != "off":
            self._attempt(self._begin)

    def _on_end(self, event: str, duration_secs: float, **_: Any) -> None:
        __tracebackhide__ = True
        if event != _EVENT:
            return
        compiling = getattr(self._here, "compiling", None)
        self._here.compiling = None
        if compiling is not None:
            self._attempt(lambda: self._end(compiling))

    def _attempt(self, step: Callable[[], None]) -> None:
        """Take a step on the user's thread."""
        __tracebackhide__ = True
        began = time.perf_counter()
        try:
            self._reporting(step)
        finally:
            self.seconds += time.perf_counter() - began

    def _reporting(self, step: Callable[[], None]) -> None:
        __tracebackhide__ = True
        try:
            step()
        except Divergence:
            raise
        except Exception as error:
            if not self._failed:
                self._failed = True
                self._say(
                    "jaxscope could not compare a compilation "
                    f"({type(error).__name__}: {str(error).splitlines()[0]})."
                )

    def _later(self, step: Callable[[], None], after_s: float = 0.0) -> None:
        self._background.submit(lambda: self._reporting(step), after_s)

    def _begin(self) -> None:
        __tracebackhide__ = True
        shared = distributed.shared_compile()
        if shared is None:
            return
        place = place_of(sys._getframe())  # pyright: ignore[reportPrivateUsage]
        if not place.where:  # a magic compiles a whole cell
            place = running_cell()
        flags = " ".join(filter(None, (*[os.environ.get(f, "") for f in _FLAGS], shared.options)))
        scope = hashlib.sha256(repr(shared.devices).encode()).hexdigest()[:8]
        with self._lock:
            position = self._next.get(scope, 0)
            self._next[scope] = position + 1
        store = JaxStore(self._service.client)
        compiling = _Compiling(
            self._text_of(shared.module),
            place,
            flags,
            scope,
            position,
            shared.devices,
            Exchange(store, f"jaxscope/{self.epoch}/{scope}/{position}", len(shared.processes)),
            store,
            self.mode == "on",
        )
        self.compared += 1
        self._here.compiling = compiling
        if compiling.guarded:
            self._compare(compiling)
        else:
            self._later(lambda: self._compare(compiling))

    def _compare(self, compiling: _Compiling) -> None:
        """Compare the program that is about to be compiled."""
        __tracebackhide__ = True
        try:
            program = divergence.print_of(
                compiling.text, self.process, compiling.place, compiling.flags
            )
            compiling.text = ""  # it may be long
            noticed = compiling.exchange.start(program)
            if noticed is not None and self._is_new(compiling, noticed.kind):
                self.found.append(noticed.message)
                if not compiling.guarded or noticed.kind is DivergenceKind.FLAGS:
                    self._say(noticed.message)
        finally:
            compiling.started.set()
        if compiling.guarded:
            self._guard(compiling.exchange, program, compiling.scope, noticed)

    def _guard(
        self,
        exchange: Exchange,
        program: ProgramPrint,
        scope: str,
        noticed: ProgramDifference | None,
    ) -> None:
        __tracebackhide__ = True
        found = Found(noticed)
        if noticed is None or noticed.kind is DivergenceKind.FLAGS:
            found = exchange.wait(program, self.guard_s, self._others)
        if found.difference is None:
            return
        if not found.reached:
            with self._lock:
                self._next[scope] -= 1
            # It had the program already, and runs it without the others.
            if any(state.doing == WAITING for state in self._others()):
                self.poison()
        raise Divergence(found.difference)

    def _is_new(self, compiling: _Compiling, kind: DivergenceKind) -> bool:
        """Whether to report it: after one compilation too many, all later ones are shifted."""
        if kind is not DivergenceKind.ORDER or compiling.guarded:
            return True
        before = self._unordered.get(compiling.scope)
        self._unordered[compiling.scope] = compiling.position
        return before is None or compiling.position > before + _IN_ORDER

    def _others(self) -> Sequence[ProcessState]:
        states = self.heartbeat.states()
        return [state for state in states if state.process != self.process]

    def _end(self, compiling: _Compiling) -> None:
        __tracebackhide__ = True
        if error := event_error():
            if compiling.guarded:
                compiling.exchange.failed(self.process, compiling.place, error)
            return
        # A divergence is reported before the program runs.
        compiling.started.wait(SETTLE_S)
        executable = distributed.compiled_executable()
        if compiling.guarded:
            self._compare_compiled(compiling, executable)
        else:
            self._later(lambda: self._compare_compiled(compiling, executable))

    def _compare_compiled(self, compiling: _Compiling, executable: Any) -> None:
        """Compare the order of the collectives in the compiled program."""
        __tracebackhide__ = True
        text = distributed.optimized_text(executable)
        if text is None:
            return
        self.groups |= schedule.collective_groups(text, compiling.devices)
        mine = CompiledPrint(
            self.process, compiling.place, compiling.flags, schedule.collectives(text)
        )
        exchange = compiling.exchange
        found = exchange.compiled(mine, self.guard_s if compiling.guarded else None).difference
        if exchange.finished:
            self._later(exchange.remove, REMOVE_S)
        operations = compiling.store.operations + exchange.finished
        self.most_operations = max(self.most_operations, operations)
        if found is None:
            return
        self.found.append(found.message)
        if compiling.guarded:
            raise Divergence(found)
        self._say(found.message)

    def poison(self) -> None:
        """Tell all processes that a collective was interrupted."""
        self._store.put("jaxscope/poisoned", str(self.process))

    def poisoned(self) -> bool:
        """Whether a collective was interrupted on any process."""
        return self._store.get("jaxscope/poisoned") is not None
