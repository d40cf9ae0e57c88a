"""Compare every compilation that spans processes, from JAX's monitoring events.

Events come on a miss only, so a cached call costs nothing. What fails in here is reported once and
never reaches the user's call; with the guard on, `Divergence` is meant to.
"""

from __future__ import annotations

import hashlib
import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from jaxscope.analysis.cluster import divergence
from jaxscope.capture._jax import distributed
from jaxscope.capture.cluster.exchange import Divergence, Exchange, Found
from jaxscope.capture.cluster.heartbeat import WAITING, Heartbeat
from jaxscope.capture.cluster.place import place_of, running_cell
from jaxscope.capture.cluster.store import JaxStore
from jaxscope.model.cluster import CompiledPrint, DivergenceKind, ProcessState, ProgramPrint

GUARDS = ("off", "warn", "on")
GUARD_S = 20.0
"""The guard waits so long for the other processes."""
_EVENT = "/jax/core/compile/backend_compile_duration"
_FLAGS = ("XLA_FLAGS", "LIBTPU_INIT_ARGS")


@dataclass(slots=True)
class _Compiling:
    """A compilation between its two events."""

    exchange: Exchange
    program: ProgramPrint
    operations: int
    devices: tuple[int, ...]


class ClusterWatch:
    """The listeners and the heartbeat of this process."""

    def __init__(self, service: distributed.Service, say: Callable[[str], None]) -> None:
        self._store = JaxStore(service.client)
        self.process, self.processes = service.process, service.processes
        self._say = say
        self.mode = "warn"
        self.guard_s = GUARD_S
        self.epoch = "0"
        self._next: dict[str, int] = {}
        self._unordered: set[str] = set()
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
        """Time spent on comparisons, waits included."""
        self.heartbeat = Heartbeat(
            JaxStore(service.client), service.process, service.processes, say
        )

    def start(self) -> None:
        from jax import monitoring

        monitoring.register_scalar_listener(self._on_start)
        monitoring.register_event_duration_secs_listener(self._on_end)
        self.heartbeat.start()

    def stop(self) -> None:
        from jax import monitoring

        with suppress(AssertionError, ValueError):
            monitoring.unregister_scalar_listener(self._on_start)
        with suppress(AssertionError, ValueError):
            monitoring.unregister_event_duration_listener(self._on_end)
        self.heartbeat.stop()

    def set_guard(self, mode: str, wait_s: float, epoch: str) -> None:
        """Set the guard; positions count again from 0, under keys of their own."""
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
        __tracebackhide__ = True
        began = time.perf_counter()
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
        finally:
            self.seconds += time.perf_counter() - began

    def _begin(self) -> None:
        __tracebackhide__ = True
        shared = distributed.shared_compile()
        if shared is None:
            return
        place = place_of(sys._getframe())  # pyright: ignore[reportPrivateUsage]
        if not place.where:  # a magic compiles a whole cell
            place = running_cell()
        flags = " ".join(filter(None, (*[os.environ.get(f, "") for f in _FLAGS], shared.options)))
        text = distributed.plain_text(shared.module)
        program = divergence.print_of(text, self.process, place, flags)
        scope = hashlib.sha256(repr(shared.devices).encode()).hexdigest()[:8]
        with self._lock:
            position = self._next.get(scope, 0)
            self._next[scope] = position + 1
        folder = f"jaxscope/{self.epoch}/{scope}"
        exchange = Exchange(
            self._store,
            f"{folder}/{position}",
            len(shared.processes),
            f"{folder}/{position - 1}" if position else "",
        )
        before = self._store.operations
        self.compared += 1
        noticed = exchange.start(program)
        if noticed is not None and self._is_new(scope, noticed.kind):
            self.found.append(noticed.message)
            if self.mode != "on" or noticed.kind is DivergenceKind.FLAGS:
                self._say(noticed.message)
        if self.mode == "on":
            self._guard(exchange, program, scope, noticed is not None and Found(noticed))
        took = self._store.operations - before
        self._here.compiling = _Compiling(exchange, program, took, shared.devices)

    def _guard(
        self, exchange: Exchange, program: ProgramPrint, scope: str, noticed: Found | bool
    ) -> None:
        __tracebackhide__ = True
        found = noticed if isinstance(noticed, Found) else None
        if found is None or (found.difference and found.difference.kind is DivergenceKind.FLAGS):
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

    def _is_new(self, scope: str, kind: DivergenceKind) -> bool:
        """Whether to report it: after one compilation too many, all later ones are shifted."""
        if kind is not DivergenceKind.ORDER or self.mode == "on":
            return True
        new = scope not in self._unordered
        self._unordered.add(scope)
        return new

    def _others(self) -> Sequence[ProcessState]:
        states = self.heartbeat.states()
        return [state for state in states if state.process != self.process]

    def _end(self, compiling: _Compiling) -> None:
        __tracebackhide__ = True
        text = distributed.optimized_text()
        if text is None:  # the compilation failed
            return
        self.groups |= divergence.collective_groups(text, compiling.devices)
        before = self._store.operations
        program = compiling.program
        mine = CompiledPrint(
            self.process, program.place, program.flags, divergence.collectives(text)
        )
        guard_s = self.guard_s if self.mode == "on" else None
        found = compiling.exchange.compiled(mine, guard_s).difference
        operations = compiling.operations + self._store.operations - before
        self.most_operations = max(self.most_operations, operations)
        if found is None:
            return
        self.found.append(found.message)
        if self.mode == "on":
            raise Divergence(found)
        self._say(found.message)

    def poison(self) -> None:
        """Tell all processes that a collective was interrupted."""
        self._store.put("jaxscope/poisoned", str(self.process))

    def poisoned(self) -> bool:
        """Whether a collective was interrupted on any process."""
        return self._store.get("jaxscope/poisoned") is not None
