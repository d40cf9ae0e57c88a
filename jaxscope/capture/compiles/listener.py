"""JAX's traces, lowerings and compilations as they happen, from JAX's public monitoring events.

Listeners are called on the compiling thread and only on a miss, so a cached call costs nothing. An
event carries a name and a duration; the caller and the arguments are read from JAX's frames
(`_jax`). An event goes to `open_compiles`, its compilation to `history`, and from there to a log.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from typing import Any, Self, TypeVar

from jaxscope import words
from jaxscope.capture import _jax
from jaxscope.capture.compiles import canary
from jaxscope.capture.compiles.history import BlockCompiles
from jaxscope.capture.compiles.open_compile import CompileStage
from jaxscope.capture.compiles.open_compiles import OpenCompiles
from jaxscope.capture.compiles.raw_compile import RawCompile
from jaxscope.capture.source.cell_names import Places
from jaxscope.model.compiles import UNOBSERVED, Persistent

T = TypeVar("T")

_OWN_WORK: ContextVar[object] = ContextVar("jaxscope_own_work", default=None)
_NO_LISTENER = object()
"""In place of the listener that observes own work."""
_REGISTER = {"event_duration_listener": "event_duration_secs_listener"}
_STAGES = {
    "/jax/core/compile/jaxpr_trace_duration": CompileStage.TRACE,
    "/jax/core/compile/jaxpr_to_mlir_module_duration": CompileStage.LOWER,
    "/jax/core/compile/backend_compile_duration": CompileStage.XLA,
}
_PERSISTENT = {
    "/jax/compilation_cache/compile_requests_use_cache": Persistent.NOT_WRITTEN,
    "/jax/compilation_cache/cache_hits": Persistent.HIT,
    "/jax/compilation_cache/cache_misses": Persistent.WRITTEN,
}


@contextmanager
def own_work(*, seen_by: object = _NO_LISTENER) -> Generator[None]:
    """Hide jaxscope's own programs (peaks, probes) inside this block from every other listener."""
    token = _OWN_WORK.set(seen_by)
    try:
        yield
    finally:
        _OWN_WORK.reset(token)


class Listener:
    """Collects the compilations of all threads while it is entered. Never raises into a user's
    call."""

    def __init__(self, *, keeps_programs: bool = True) -> None:
        """Of jaxscope's own work no report opens a program: it keeps none of them alive."""
        self._open = OpenCompiles(
            self._attempt, own_work, self._notify, keeps_programs=keeps_programs
        )
        self.history = self._open.history
        """The compilations that are still kept, with their causes."""
        self.programs = self._open.programs
        """The programs that they compiled."""
        self.traces = self._open.traces
        """The globals that traced functions read."""
        self.errors = 0
        """Events that could not be read completely."""
        self.first_error = ""
        self._lock = threading.RLock()  # a failure while it is held is noted under it
        self._held = 0
        self._subscribers: tuple[Callable[[RawCompile], None], ...] = ()
        self.places = Places()
        """Names of the calling cells and files; a session sets its own."""
        self.missing: tuple[str, ...] = ()
        """Functions of `jax.monitoring` that this JAX does not have."""
        self._stuck: set[str] = set()
        self._lines = ExitStack()
        self.losses = 0
        """Number of times that other code removed our listeners."""

    def __enter__(self) -> Self:
        """Listen until the last of those who entered has left."""
        with self._lock:
            self._held += 1
            if self._held == 1:
                try:
                    self._register()
                except BaseException:
                    self._held = 0
                    self._unregister()
                    raise
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._held -= 1
            if self._held == 0:
                self._unregister()

    @classmethod
    def shared(cls) -> Listener:
        """The listener that is registered, with what it observed so far; else a new one."""
        return _jax.monitors(cls) or cls()

    @property
    def listening(self) -> bool:
        """Whether it is entered at least once."""
        return self._held > 0

    def listen_again(self) -> bool:
        """Register again if our listeners were removed, and return whether they were.

        `jax.monitoring.clear_event_listeners()` removes those of every library.
        """
        with self._lock:
            if self._held == 0 or self.missing or _jax.monitored_by(self) is not False:
                return False
            self._unregister()  # some may be left
            self._register()
            self.losses += 1
            return True

    def _register(self) -> None:
        from jax import monitoring

        self._open.start()
        missing: list[str] = []
        for name, listener in self._listeners.items():
            register = getattr(monitoring, f"register_{_REGISTER.get(name, name)}", None)
            if register is None:
                missing.append(f"register_{_REGISTER.get(name, name)}")
            elif name not in self._stuck:
                register(listener)
        self.missing = tuple(missing)
        # JAX keeps what the user's code traces now, and a later report reads its lines.
        with suppress(Exception):
            self._lines.enter_context(_jax.own_lines_of_rules())

    def _unregister(self) -> None:
        from jax import monitoring

        self._lines.close()
        for name, listener in self._listeners.items():
            unregister = getattr(monitoring, f"unregister_{name}", None)
            if unregister is None:  # then it stays; its events count once it is entered again
                self._stuck.add(name)
                continue
            # AssertionError (ValueError under -O): all listeners were cleared.
            with suppress(AssertionError, ValueError):
                unregister(listener)

    @property
    def _listeners(self) -> dict[str, Callable[..., None]]:
        """By the names of JAX's functions."""
        return {
            "event_listener": self._on_event,
            "event_duration_listener": self._on_end,
            "scalar_listener": self._on_start,
        }

    @property
    def count(self) -> int:
        """The number of compilations so far; the serial of the latest."""
        return self.history.count

    @property
    def records(self) -> Sequence[RawCompile]:
        """The latest compilations of all threads, in the order they began."""
        return self.history.records

    def since(self, serial: int) -> tuple[RawCompile, ...]:
        """The compilations of all threads after that serial, as far as they are still kept."""
        # Other threads go on compiling: copy first.
        records = tuple(self.records)
        newer = itertools.takewhile(lambda raw: raw.number > serial, reversed(records))
        return tuple(newer)[::-1]

    @contextmanager
    def notifying(self, subscriber: Callable[[RawCompile], None]) -> Generator[None]:
        """Call `subscriber` after every compilation in the block, on the thread that compiled.

        It should be quick. The listener notes what it raises, and continues.
        """
        with self._lock:
            self._subscribers = (*self._subscribers, subscriber)
        try:
            yield
        finally:
            with self._lock:
                self._subscribers = tuple(one for one in self._subscribers if one is not subscriber)

    def _notify(self, raw: RawCompile) -> None:
        for subscriber in self._subscribers:
            self._attempt(subscriber, raw)

    @property
    def compile_count(self) -> int:
        """The number of XLA compilations on this thread since the listener began. Cheap."""
        return self._open.here.compile_count

    def open_block(self, block: BlockCompiles) -> None:
        """Collect in the block, on this thread."""
        for blocks in (self._open.here.blocks, self._open.blocks):
            blocks.append(block)

    def close_block(self, block: BlockCompiles) -> None:
        for blocks in (self._open.here.blocks, self._open.blocks):
            blocks.remove(block)

    @property
    def open_stages(self) -> Callable[[], CompileStage | None]:
        """Tells another thread the innermost stage that is open on this one."""
        stack = self._open.here.open

        def stage() -> CompileStage | None:
            with suppress(IndexError):  # it has just ended
                return stack[-1].stage
            return None

        return stage

    @property
    def notes(self) -> tuple[str, ...]:
        """Caveats about the compilations, as sentences for the report."""
        found = (f"{UNOBSERVED}{self.unobserved}.",) if self.unobserved else ()
        if self.missing:
            names = words.listed([f"`jax.monitoring.{name}`" for name in self.missing])
            found += (f"This version of JAX has no {names}, so details may be missing.",)
        if self._open.incomplete:
            what = words.count(self._open.incomplete, "call")
            found += (f"This version of JAX did not show all of {what}, so causes may be unknown.",)
        if not self.errors:
            return found
        what = words.count(self.errors, "compile event")
        lost = "so names and lines may be missing"
        return (*found, f"{what} could not be read completely, {lost} ({self.first_error}).")

    @property
    def unobserved(self) -> str:
        """The reason that compilations may be missing altogether; empty when JAX reports them.

        Costs nothing once a compilation was observed, or as long as no backend is up: then there
        was none.
        """
        if self._open.observed or not _jax.backends_started():
            return ""
        return canary.unobserved(_trial)

    def _ignores(self) -> bool:
        only = _OWN_WORK.get()
        left = self._held == 0 and bool(self._stuck)
        return left or (only is not None and only is not self)

    def _on_start(self, event: str, value: float, **details: Any) -> None:
        stage = _STAGES.get(event)
        if stage is not None and not self._ignores():
            self._attempt(self._open.begin, stage, str(details.get("fun_name", "")))

    def _on_end(self, event: str, duration_secs: float, **details: Any) -> None:
        stage = _STAGES.get(event)
        if stage is not None and not self._ignores():
            self._attempt(self._open.end, stage, str(details.get("fun_name", "")), duration_secs)

    def _on_event(self, event: str, **details: Any) -> None:
        status = _PERSISTENT.get(event)
        if status is not None and not self._ignores():
            self._attempt(self._open.cache, status)

    def _attempt(self, step: Callable[..., T], *arguments: Any) -> T | None:
        """The step's value, or None when it fails: a listener must not break the user's call."""
        try:
            return step(*arguments)
        except Exception as error:
            with self._lock:
                self.errors += 1
                self.first_error = self.first_error or f"{type(error).__name__}: {error}"
            return None


def _trial(program: Callable[[], object]) -> list[RawCompile]:
    listener = Listener(keeps_programs=False)
    with listener, collecting(listener) as block, own_work(seen_by=listener):
        program()
        return block.raw


@contextmanager
def collecting(
    listener: Listener,
    *,
    on_trace_start: Callable[[str], None] | None = None,
    on_lowering_start: Callable[[str], None] | None = None,
    on_xla_start: Callable[[str], None] | None = None,
    on_compiled: Callable[[RawCompile], None] | None = None,
) -> Generator[BlockCompiles]:
    """The compilations of this block, on this thread and on those that start meanwhile.

    Blocks may be nested. What a new thread compiles while several threads have blocks is of none.

    Hooks are called in the middle of JAX's work, while `_jax.calling`, `_jax.lowering_jaxpr` and,
    in `on_compiled`, `_jax.compiled_program` can see it. The listener notes what they raise, and
    continues.
    """
    on_start = {
        CompileStage.TRACE: on_trace_start,
        CompileStage.LOWER: on_lowering_start,
        CompileStage.XLA: on_xla_start,
    }
    block = BlockCompiles(listener.history, {**on_start}, on_compiled)
    listener.open_block(block)
    try:
        yield block
    finally:
        listener.close_block(block)
