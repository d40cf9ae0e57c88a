"""What JAX traces, lowers and compiles, as it happens: listeners on JAX's public monitoring.

Listeners are called on the compiling thread and only on a miss, so a cached call pays nothing. An
event carries a name and a duration; who called with what is read from JAX's frames (`_jax`).
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any, Self, TypeVar

from jaxscope.capture import _jax
from jaxscope.capture.compiles.block_compiles import BlockCompiles
from jaxscope.capture.compiles.history import History
from jaxscope.capture.compiles.live_programs import KeptPrograms
from jaxscope.capture.compiles.open_stages import Stage
from jaxscope.capture.compiles.raw_compile import RawCompile
from jaxscope.capture.compiles.stage_tracker import Accounts
from jaxscope.capture.source.cell_names import Places
from jaxscope.model.compiles import Persistent

T = TypeVar("T")

_OWN_WORK: ContextVar[bool] = ContextVar("jaxscope_own_work", default=False)


_STAGES = {
    "/jax/core/compile/jaxpr_trace_duration": Stage.TRACE,
    "/jax/core/compile/jaxpr_to_mlir_module_duration": Stage.LOWER,
    "/jax/core/compile/backend_compile_duration": Stage.XLA,
}
_PERSISTENT = {
    "/jax/compilation_cache/compile_requests_use_cache": Persistent.NOT_WRITTEN,
    "/jax/compilation_cache/cache_hits": Persistent.HIT,
    "/jax/compilation_cache/cache_misses": Persistent.WRITTEN,
}


@contextmanager
def own_work() -> Generator[None]:
    """jaxscope's own programs (peaks, probes) inside this block are hidden from every listener."""
    token = _OWN_WORK.set(True)
    try:
        yield
    finally:
        _OWN_WORK.reset(token)


class Listener:
    """Collects the compiles of all threads while it is entered. Never raises into a user's call."""

    def __init__(self) -> None:
        self._accounts = Accounts(self._attempt, own_work, self._tell)
        self.errors = 0
        """Events that could not be read in full."""
        self.first_error = ""
        self._lock = threading.RLock()  # what fails while it is held is noted under it
        self._held = 0
        self._hearers: tuple[Callable[[RawCompile], None], ...] = ()
        self.places = Places()
        """What to call the places that compiled; a session puts its own here."""
        self.losses = 0
        """How often somebody took our listeners away."""

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

    @property
    def listening(self) -> bool:
        """Whether anybody has entered it and not left."""
        return self._held > 0

    def listen_again(self) -> bool:
        """Whether somebody had taken our listeners away; if so they are put back.

        `jax.monitoring.clear_event_listeners()` takes away those of every library.
        """
        with self._lock:
            if self._held == 0 or _jax.monitored_by(self) is not False:
                return False
            self._unregister()  # some may be left
            self._register()
            self.losses += 1
            return True

    def _register(self) -> None:
        from jax import monitoring

        self._accounts.listening()
        monitoring.register_event_listener(self._on_event)
        monitoring.register_event_duration_secs_listener(self._on_end)
        monitoring.register_scalar_listener(self._on_start)

    def _unregister(self) -> None:
        from jax import monitoring

        # AssertionError (ValueError under -O): somebody cleared all listeners.
        with suppress(AssertionError, ValueError):
            monitoring.unregister_event_listener(self._on_event)
        with suppress(AssertionError, ValueError):
            monitoring.unregister_event_duration_listener(self._on_end)
        with suppress(AssertionError, ValueError):
            monitoring.unregister_scalar_listener(self._on_start)

    @property
    def history(self) -> History:
        """The compiles that are still kept, and what each is to be compared with."""
        return self._accounts.history

    @property
    def programs(self) -> KeptPrograms:
        """The programs that they made."""
        return self._accounts.programs

    @property
    def count(self) -> int:
        """How many compiles were seen so far; the serial of the latest."""
        return self.history.count

    @property
    def records(self) -> Sequence[RawCompile]:
        """The latest compiles of all threads, in the order they began."""
        return self.history.records

    def since(self, serial: int) -> tuple[RawCompile, ...]:
        """The compiles of all threads after that serial, as far as they are still kept."""
        # Other threads go on compiling: a copy is taken at once.
        records = tuple(self.records)
        newer = itertools.takewhile(lambda raw: raw.number > serial, reversed(records))
        return tuple(newer)[::-1]

    @contextmanager
    def telling(self, hear: Callable[[RawCompile], None]) -> Generator[None]:
        """Inside the block `hear` is called after every compile, on the thread that compiled.

        It should be quick. What it raises is noted by the listener and goes no further.
        """
        with self._lock:
            self._hearers = (*self._hearers, hear)
        try:
            yield
        finally:
            with self._lock:
                self._hearers = tuple(one for one in self._hearers if one is not hear)

    def _tell(self, raw: RawCompile) -> None:
        for hear in self._hearers:
            self._attempt(hear, raw)

    @property
    def compile_count(self) -> int:
        """How often XLA compiled on this thread since the listener began. Cheap."""
        return self._accounts.here.compile_count

    def attach(self, run: BlockCompiles) -> None:
        """From now on the run gets the compiles of this thread; use `collecting`."""
        self._accounts.here.runs.append(run)

    def detach(self, run: BlockCompiles) -> None:
        self._accounts.here.runs.remove(run)

    @property
    def notes(self) -> tuple[str, ...]:
        """Doubts about the compiles, as sentences for the report."""
        if not self.errors:
            return ()
        what = "1 compile event" if self.errors == 1 else f"{self.errors} compile events"
        lost = "so names and places of compiles may be missing"
        return (f"{what} could not be read in full, {lost} ({self.first_error}).",)

    def _on_start(self, event: str, value: float, **details: Any) -> None:
        stage = _STAGES.get(event)
        if stage is not None and not _OWN_WORK.get():
            self._attempt(self._accounts.begin, stage, str(details.get("fun_name", "")))

    def _on_end(self, event: str, duration_secs: float, **details: Any) -> None:
        stage = _STAGES.get(event)
        if stage is not None and not _OWN_WORK.get():
            self._attempt(
                self._accounts.end, stage, str(details.get("fun_name", "")), duration_secs
            )

    def _on_event(self, event: str, **details: Any) -> None:
        status = _PERSISTENT.get(event)
        if status is not None and not _OWN_WORK.get():
            self._attempt(self._accounts.cache, status)

    def _attempt(self, step: Callable[..., T], *arguments: Any) -> T | None:
        """The step's value, or None when it fails: a listener must not break the user's compile."""
        try:
            return step(*arguments)
        except Exception as error:
            with self._lock:
                self.errors += 1
                self.first_error = self.first_error or f"{type(error).__name__}: {error}"
            return None


@contextmanager
def collecting(
    listener: Listener,
    *,
    on_trace_start: Callable[[str], None] | None = None,
    on_lowering_start: Callable[[str], None] | None = None,
    on_compiled: Callable[[RawCompile], None] | None = None,
) -> Generator[BlockCompiles]:
    """The compiles of this block on this thread; blocks may be nested.

    Hooks are called in the middle of JAX's work, while `_jax.calling_jit`, `_jax.lowering_jaxpr`
    and, in `on_compiled`, `_jax.compiled_executable` can see it. What they raise is noted by the
    listener and goes no further.
    """
    run = BlockCompiles(on_trace_start, on_lowering_start, on_compiled)
    listener.attach(run)
    try:
        yield run
    finally:
        listener.detach(run)
