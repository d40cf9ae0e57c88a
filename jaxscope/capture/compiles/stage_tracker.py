"""Stages of JAX's work as they begin and end on each thread, added up to compiles.

JAX reports each trace, lowering and compilation by itself, the inner ones inside the outer ones.
Here the three of one call become one compile, with its own seconds, its caller and its arguments.
"""

from __future__ import annotations

import inspect
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol, TypeVar

from jaxscope.capture import _jax
from jaxscope.capture.compiles import persistent_cache
from jaxscope.capture.compiles.block_compiles import BlockCompiles
from jaxscope.capture.compiles.caller import Caller
from jaxscope.capture.compiles.history import History
from jaxscope.capture.compiles.live_programs import KeptPrograms
from jaxscope.capture.compiles.open_stages import Open, Pending, Stage, goes_on, joins, plain_name
from jaxscope.capture.compiles.raw_compile import RawCompile
from jaxscope.capture.source.frames import user_frames
from jaxscope.model.compiles import CompileKind, Persistent

T = TypeVar("T")

_PROGRAMS = 4096  # programs that can be looked up again, by weak references


class Attempt(Protocol):
    """Takes one step; None when the step fails, which must not break the user's compile."""

    def __call__(self, step: Callable[..., T], *arguments: object) -> T | None: ...


class Thread(threading.local):
    """What goes on on this thread."""

    def __init__(self) -> None:
        self.open: list[Open] = []
        self.recent: deque[Pending] = deque(maxlen=8)
        self.runs: list[BlockCompiles] = []
        self.compile_count = 0


class Accounts:
    """The compiles of all threads, and what is under way on each."""

    def __init__(
        self,
        attempt: Attempt,
        own_work: Callable[[], AbstractContextManager[None]],
        finished: Callable[[RawCompile], None],
    ) -> None:
        self.history = History()
        self.programs = KeptPrograms(_PROGRAMS)
        self._caller = Caller()
        self._thread = Thread()
        # Stage by stage, one thread may lower what another compiles: these were lowered last.
        self._lowered: deque[Pending] = deque(maxlen=8)
        self._attempt = attempt
        self._own_work = own_work
        self._finished = finished

    @property
    def here(self) -> Thread:
        """What goes on on this thread."""
        return self._thread

    def listening(self) -> None:
        """The listening begins: what JAX has traced by now, nobody heard of."""
        self._caller.traced = self._attempt(_jax.traced_functions)

    def begin(self, stage: Stage, name: str) -> None:
        """A stage of this name begins on this thread."""
        thread = self._thread
        record = self._record_for(stage, name)
        misses = self._attempt(_jax.trace_misses) if stage is Stage.TRACE else None
        thread.open.append(Open(stage, name, record, misses))
        if stage is Stage.LOWER and record.raw.number:
            self._attempt(self.programs.lowering, record.raw.number)
        for run in tuple(thread.runs):
            if (hook := run.hook(stage)) is not None:
                self._attempt(hook, record.event_name)

    def end(self, stage: Stage, name: str, seconds: float) -> None:
        """It ended, by itself or by an exception."""
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
            if raw.kind is CompileKind.AOT:
                self._lowered.append(record)
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
        self._finished(raw)

    def cache(self, status: Persistent) -> None:
        """The persistent cache was asked, or had it, or wrote it."""
        opened = self._thread.open[-1] if self._thread.open else None
        if opened is None or opened.stage is not Stage.XLA:
            return
        if status is Persistent.NOT_WRITTEN:
            # The request is reported on every compile, also where no cache is set up.
            if not persistent_cache.directory():
                return
            opened.request = self._attempt(_jax.cache_request)
        opened.record.raw.persistent = status

    def _judge_cache(self, raw: RawCompile, request: _jax.CacheRequest | None) -> None:
        program = _jax.compiled_program()
        callbacks = program is not None and program.callbacks
        raw.persistent_why = persistent_cache.why(
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
        latest = siblings[-1] if siblings else None
        if latest is not None and self._attempt(goes_on, latest, stage, plain):
            latest.stage = stage
            return latest
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
        if call.kind is CompileKind.AOT and stage is Stage.XLA:
            handed = self._handed_over(plain, call)
            if handed is not None:
                return handed
        if call.kind is CompileKind.AOT and call.args is None:
            # `.compile()` again, of a stage that was compiled before.
            same = [r.raw.call for r in siblings if r.event_name == plain and r.raw.call]
            self._attempt(self._caller.read_stage, record.raw, same[-1] if same else None)
        self._describe(record, call, outer)
        siblings.append(record)
        return record

    def _handed_over(self, name: str, call: _jax.JaxCall) -> Pending | None:
        """The compile of this name that another thread lowered, going on here."""
        for record in reversed(tuple(self._lowered)):
            if joins(record, Stage.XLA, name, call, latest=False):
                record.stage = Stage.XLA
                self._attempt(self._caller.read_stage, record.raw, record.raw.call)
                for run in self._thread.runs:
                    if all(one is not record.raw for one in run.raw):
                        run.raw.append(record.raw)
                return record
        return None

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
        with self._own_work():
            self._attempt(self._caller.read, raw, call)
            self._attempt(self._caller.look_back, raw, call, self.history)
