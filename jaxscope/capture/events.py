"""What JAX traces, lowers and compiles, as it happens: listeners on JAX's public monitoring.

Listeners are called on the compiling thread and only on a miss, so a cached call pays nothing. An
event carries a name and a duration; who called with what is read from JAX's frames (`_jax`).
"""

from __future__ import annotations

import inspect
import itertools
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any, Self, TypeVar

from jaxscope.capture import _jax, diskcache
from jaxscope.capture.caller import Caller
from jaxscope.capture.collected import Run
from jaxscope.capture.frames import user_frames
from jaxscope.capture.history import History
from jaxscope.capture.kept import KeptPrograms
from jaxscope.capture.pending import Open, Pending, Stage, joins, plain_name
from jaxscope.capture.places import Places
from jaxscope.capture.rawcompile import RawCompile
from jaxscope.model.compiles import CompileKind, Persistent

T = TypeVar("T")

_PROGRAMS = 4096  # programs that can be looked up again, by weak references
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


class _Thread(threading.local):
    """What goes on on this thread."""

    def __init__(self) -> None:
        self.open: list[Open] = []
        self.recent: deque[Pending] = deque(maxlen=8)
        self.runs: list[Run] = []
        self.compile_count = 0


class Listener:
    """Collects the compiles of all threads while it is entered. Never raises into a user's call."""

    def __init__(self) -> None:
        self.history = History()
        self.programs = KeptPrograms(_PROGRAMS)
        self._caller = Caller()
        self.errors = 0
        """Events that could not be read in full."""
        self.first_error = ""
        self._thread = _Thread()
        self._lock = threading.Lock()
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

    @property
    def compile_count(self) -> int:
        """How often XLA compiled on this thread since the listener began. Cheap."""
        return self._thread.compile_count

    def attach(self, run: Run) -> None:
        """From now on the run gets the compiles of this thread; use `collecting`."""
        self._thread.runs.append(run)

    def detach(self, run: Run) -> None:
        self._thread.runs.remove(run)

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
            self._attempt(self._begin, stage, str(details.get("fun_name", "")))

    def _on_end(self, event: str, duration_secs: float, **details: Any) -> None:
        stage = _STAGES.get(event)
        if stage is not None and not _OWN_WORK.get():
            self._attempt(self._end, stage, str(details.get("fun_name", "")), duration_secs)

    def _on_event(self, event: str, **details: Any) -> None:
        status = _PERSISTENT.get(event)
        if status is not None and not _OWN_WORK.get():
            self._attempt(self._cache, status)

    def _attempt(self, step: Callable[..., T], *arguments: Any) -> T | None:
        """The step's value, or None when it fails: a listener must not break the user's compile."""
        try:
            return step(*arguments)
        except Exception as error:
            with self._lock:
                self.errors += 1
                self.first_error = self.first_error or f"{type(error).__name__}: {error}"
            return None

    def _begin(self, stage: Stage, name: str) -> None:
        thread = self._thread
        record = self._record_for(stage, name)
        misses = self._attempt(_jax.trace_misses) if stage is Stage.TRACE else None
        thread.open.append(Open(stage, name, record, misses))
        if stage is Stage.LOWER and record.raw.number:
            self._attempt(self.programs.lowering, record.raw.number)
        for run in tuple(thread.runs):
            hook = {Stage.TRACE: run.on_trace_start, Stage.LOWER: run.on_lowering_start}.get(stage)
            if hook is not None:
                self._attempt(hook, record.event_name)

    def _end(self, stage: Stage, name: str, seconds: float) -> None:
        stack = self._thread.open
        if not any((o.stage, o.name) == (stage, name) for o in stack):  # began before we listened
            opened = Open(stage, name, self._record_for(stage, name), None)
        else:
            while (stack[-1].stage, stack[-1].name) != (stage, name):  # an end that never came
                stack.pop()
            opened = stack.pop()
        self._account(opened, seconds)

    def _account(self, opened: Open, seconds: float) -> None:
        thread, stage, record = self._thread, opened.stage, opened.record
        raw = record.raw
        outer = thread.open[-1] if thread.open else None
        raw.error = self._attempt(_jax.event_error) or raw.error
        own = max(seconds - opened.inside, 0.0)
        raw.inside_s += opened.inside
        if stage is Stage.TRACE:
            # JAX reports a trace also when it found one in its cache (jax 0.9 and later).
            hit = opened.misses is not None and self._attempt(_jax.trace_misses) == opened.misses
            if not hit:
                raw.traced, raw.trace_s = True, raw.trace_s + own
            record.trace_share = own
            if outer is not None:
                outer.inside += opened.inside
            return
        if outer is not None:
            outer.inside += seconds + record.trace_share
            record.trace_share = 0.0
        if stage is Stage.LOWER:
            raw.lowered, raw.lower_s = True, raw.lower_s + own
            return
        raw.compiled, raw.compile_s = True, raw.compile_s + own
        self._attempt(self.history.finished, raw)
        if not raw.error:
            self._attempt(self.programs.compiled, raw.number)
            if raw.persistent is not Persistent.OFF:
                self._attempt(self._judge_cache, raw, opened.request)
        thread.compile_count += 1
        for run in tuple(thread.runs):
            if run.on_compiled is not None:
                self._attempt(run.on_compiled, raw)
        for hear in self._hearers:
            self._attempt(hear, raw)

    def _cache(self, status: Persistent) -> None:
        opened = self._thread.open[-1] if self._thread.open else None
        if opened is None or opened.stage is not Stage.XLA:
            return
        if status is Persistent.NOT_WRITTEN:
            # The request is reported on every compile, also where no cache is set up.
            if not diskcache.directory():
                return
            opened.request = self._attempt(_jax.cache_request)
        opened.record.raw.persistent = status

    def _judge_cache(self, raw: RawCompile, request: _jax.CacheRequest | None) -> None:
        program = _jax.compiled_program()
        callbacks = program is not None and program.callbacks
        raw.persistent_why = diskcache.why(
            request, raw.persistent, raw.compile_s, callbacks=callbacks
        )

    def _record_for(self, stage: Stage, name: str) -> Pending:
        """The compile that this stage belongs to, or a new one."""
        thread = self._thread
        outer = thread.open[-1] if thread.open else None
        siblings = outer.nested if outer is not None else thread.recent
        plain = plain_name(name)
        if outer is not None and outer.stage is stage is Stage.TRACE:
            record = Pending(self._raw(plain), plain, stage, (), described=False)
            siblings.append(record)
            return record
        call = self._attempt(_jax.jax_call) or _jax.JaxCall(CompileKind.JIT)
        for age, record in enumerate(reversed(siblings)):
            if joins(record, stage, plain, call, latest=age == 0):
                record.stage = stage
                if not record.described:
                    self._describe(record, call, outer)
                elif call.kind is CompileKind.TRANSFORMED is not record.raw.kind:
                    # jax 0.8 traces the function with the transform's tracers first.
                    self._read_call(record.raw, call, outer)
                if call.kind is CompileKind.AOT and stage is Stage.XLA:
                    self._attempt(self._caller.read_stage, record.raw, record.raw.call)
                return record
        record = Pending(self._raw(plain), plain, stage, call.keys, described=False)
        if call.kind is CompileKind.AOT and call.args is None:
            # `.compile()` again, of a stage that was compiled before.
            same = [r.raw.call for r in siblings if r.event_name == plain and r.raw.call]
            self._attempt(self._caller.read_stage, record.raw, same[-1] if same else None)
        self._describe(record, call, outer)
        siblings.append(record)
        return record

    def _raw(self, name: str) -> RawCompile:
        thread = threading.current_thread()
        return RawCompile(name, threading.get_ident(), thread.name, time.time())

    def _describe(self, record: Pending, call: _jax.JaxCall, outer: Open | None) -> None:
        """Fills in who called with what, and makes the compile known."""
        raw = record.raw
        record.described, record.keys = True, call.keys
        raw.fun_name = call.name or raw.fun_name
        raw.frames = self._attempt(user_frames, inspect.currentframe()) or ()
        if outer is not None:
            raw.inside = outer.record.raw.fun_name
            # What was only traced inside another compile has no number.
            raw.parent = outer.record.raw.number or outer.record.raw.parent
        self._read_call(raw, call, outer)
        self.history.add(raw)
        for run in self._thread.runs:
            run.raw.append(raw)

    def _read_call(self, raw: RawCompile, call: _jax.JaxCall, outer: Open | None) -> None:
        nested = outer is not None and call.kind in (CompileKind.JIT, CompileKind.TRANSFORMED)
        raw.kind = CompileKind.NESTED if nested else call.kind
        with own_work():
            self._attempt(self._caller.read, raw, call)
            self._attempt(self._caller.look_back, raw, call, self.history)


@contextmanager
def collecting(
    listener: Listener,
    *,
    on_trace_start: Callable[[str], None] | None = None,
    on_lowering_start: Callable[[str], None] | None = None,
    on_compiled: Callable[[RawCompile], None] | None = None,
) -> Generator[Run]:
    """The compiles of this block on this thread; blocks may be nested.

    Hooks are called in the middle of JAX's work, while `_jax.calling_jit`, `_jax.lowering_jaxpr`
    and, in `on_compiled`, `_jax.compiled_executable` can see it. What they raise is noted by the
    listener and goes no further.
    """
    run = Run(on_trace_start, on_lowering_start, on_compiled)
    listener.attach(run)
    try:
        yield run
    finally:
        listener.detach(run)
