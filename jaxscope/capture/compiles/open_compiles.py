"""Compilations under way: the stages that JAX reports on each thread, joined to one per call.

JAX reports each trace, lowering and compilation by itself, the inner ones inside the outer ones.
The three of one call become one `OpenCompile`, with its own seconds, its caller and its arguments.
"""

from __future__ import annotations

import inspect
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Protocol, TypeVar

from jaxscope.analysis.compiles.causes.signature import CallSignature
from jaxscope.capture import _jax
from jaxscope.capture.compiles import persistent_cache
from jaxscope.capture.compiles.history import BlockCompiles, History
from jaxscope.capture.compiles.live_programs import LivePrograms
from jaxscope.capture.compiles.open_compile import (
    CompileStage,
    OpenCompile,
    new_compile,
    plain_name,
)
from jaxscope.capture.compiles.raw_compile import RawCompile
from jaxscope.capture.compiles.signature.earlier_traces import EarlierTraces
from jaxscope.capture.compiles.signature.functions import name_of, staged
from jaxscope.capture.compiles.signature.reader import SignatureReader, static_reads
from jaxscope.capture.compiles.traced_reads import TracedReads
from jaxscope.capture.source.frames import CALL_FILE, RawFrame, is_user_file, user_frames
from jaxscope.model.compiles import CompileKind, Persistent

T = TypeVar("T")

_PROGRAMS = 4096  # programs that can be looked up again, by weak references


class _ThreadState(threading.local):
    def __init__(self) -> None:
        self.open: list[OpenCompile] = []
        """The compilations whose stage is open, outermost first."""
        self.recent: deque[OpenCompile] = deque(maxlen=8)
        self.blocks: list[BlockCompiles] = []
        self.compile_count = 0


class Attempt(Protocol):
    """Runs one step; None when the step fails, which must not break the user's compilation."""

    def __call__(self, step: Callable[..., T], *arguments: object) -> T | None: ...


class OpenCompiles:
    """The compilations under way on every thread, and the history that they enter."""

    def __init__(
        self,
        attempt: Attempt,
        own_work: Callable[[], AbstractContextManager[None]],
        finished: Callable[[RawCompile], None],
        *,
        keeps_programs: bool = True,
    ) -> None:
        self.history = History()
        self.programs = LivePrograms(_PROGRAMS if keeps_programs else 0)
        self.reader = SignatureReader()
        self._earlier = EarlierTraces(self.reader)
        self.traces = TracedReads()
        self.here = _ThreadState()
        """The state of each thread."""
        self.blocks: list[BlockCompiles] = []
        """The open blocks of all threads."""
        # Ahead of time, one thread may lower what another compiles: these were lowered last.
        self._lowered: deque[OpenCompile] = deque(maxlen=8)
        self.observed = False
        """Whether all three stages of one compilation were observed."""
        self.incomplete = 0
        """Calls of which JAX's frames did not show all."""
        self._attempt = attempt
        self._own_work = own_work
        self._finished = finished

    def start(self) -> None:
        """Note which functions JAX traced before, so that they are not reported as first calls."""
        used = self._attempt(_jax.backends_started)
        self.history.begin(from_start=used is False and not self.history.count)
        self._attempt(self._earlier.snapshot)

    def begin(self, stage: CompileStage, event_name: str) -> None:
        """A stage of this name begins on this thread."""
        thread, began = self.here, time.perf_counter()
        compile = self._compile_of(stage, event_name)
        misses = self._attempt(_jax.trace_misses) if stage is CompileStage.TRACE else None
        compile.begin(stage, event_name, misses)
        thread.open.append(compile)
        if stage is CompileStage.LOWER and compile.raw.number:
            self._attempt(self.programs.lowering, compile.raw.number)
            if compile.raw.call is not None:
                self._attempt(self._note_reads, compile.raw.call)
        for block in self._collecting():
            if (hook := block.on_start.get(stage)) is not None:
                self._attempt(hook, compile.name)
        compile.own_s = max(time.perf_counter() - began - compile.inner_s, 0.0)

    def _note_reads(self, call: CallSignature) -> None:
        reads = call.function.reads
        if call.function.owner or any(one.identity for one in call.statics):
            reads += static_reads(_jax.jax_call())
        self.traces.note(_jax.traced_jaxpr(), reads)

    def end(self, stage: CompileStage, event_name: str, seconds: float) -> None:
        """The stage ended, by itself or by an exception."""
        stack = self.here.open
        if any((c.stage, c.event_name) == (stage, event_name) for c in stack):
            while (stack[-1].stage, stack[-1].event_name) != (stage, event_name):
                stack.pop()  # an end that never came
            compile = stack.pop()
        else:  # began before the listener
            compile = self._compile_of(stage, event_name)
            compile.begin(stage, event_name)
        self._account(compile, seconds)
        compile.inner = []  # the latest compilations are kept, those inside them need not be

    def _account(self, compile: OpenCompile, seconds: float) -> None:
        thread, raw = self.here, compile.raw
        outer = thread.open[-1] if thread.open else None
        raw.error = self._attempt(_jax.event_error) or raw.error
        own = max(seconds - compile.inner_s - compile.own_s, 0.0)
        raw.inside_s += compile.inner_s
        if compile.stage is CompileStage.TRACE:
            # JAX reports a trace also when it found one in its cache (jax 0.9 and later).
            misses = compile.misses
            if misses is None or self._attempt(_jax.trace_misses) != misses:
                raw.traced, raw.trace_s = True, raw.trace_s + own
            compile.trace_share = own
            if outer is not None:
                outer.inner_s += compile.inner_s + compile.own_s
            return
        if outer is not None:
            outer.inner_s += seconds + compile.trace_share
            compile.trace_share = 0.0
        if compile.stage is CompileStage.LOWER:
            raw.lowered, raw.lower_s = True, raw.lower_s + own
            if raw.kind is CompileKind.AOT:
                self._lowered.append(compile)
            return
        raw.compiled, raw.compile_s = True, raw.compile_s + own
        self.observed = self.observed or (raw.traced and raw.lowered)
        self._attempt(self.history.finished, raw)
        if not raw.error:
            self._attempt(self.programs.compiled, raw.number)
            if raw.persistent is not Persistent.OFF:
                self._attempt(self._judge_cache, raw, compile.request)
        thread.compile_count += 1
        for block in self._collecting():
            if block.on_compiled is not None:
                self._attempt(block.on_compiled, raw)
        self._finished(raw)

    def cache(self, status: Persistent) -> None:
        """The persistent cache was requested, hit or written."""
        compile = self.here.open[-1] if self.here.open else None
        if compile is None or compile.stage is not CompileStage.XLA:
            return
        if status is Persistent.NOT_WRITTEN:
            # JAX reports the request for every compilation, also without a cache.
            if not persistent_cache.directory():
                return
            compile.request = self._attempt(_jax.cache_request)
        compile.raw.persistent = status

    def _judge_cache(self, raw: RawCompile, request: _jax.CacheRequest | None) -> None:
        program = _jax.compiled_program()
        callbacks = program is not None and program.callbacks
        if raw.call is not None and raw.call.function.cell_id:
            request = None  # its tags are in the key, and the programs of all cells have one name
        raw.persistent_why = persistent_cache.why(
            request, raw.persistent, raw.compile_s, callbacks=callbacks
        )

    def _compile_of(self, stage: CompileStage, event_name: str) -> OpenCompile:
        """The compilation that this stage continues, or a new one."""
        thread = self.here
        outer = thread.open[-1] if thread.open else None
        siblings = outer.inner if outer is not None else thread.recent
        name = plain_name(event_name)
        if outer is not None and outer.stage is stage is CompileStage.TRACE:
            siblings.append(new := new_compile(stage, name))
            return new
        if siblings and self._attempt(siblings[-1].is_next, stage, name):
            return siblings[-1]
        call = self._attempt(_jax.jax_call) or _jax.JaxCall(CompileKind.JIT)
        if call.kind is CompileKind.AOT and outer is None and (own := staged()) is not None:
            # JAX's frames show its own form of a pmapped function.
            shown = own if call.args is None or own.transforms else call
            call = replace(shown, keys=call.keys, request_id=own.request_id)
        compiles_stage = call.kind is CompileKind.AOT and stage is CompileStage.XLA
        for age, known in enumerate(reversed(siblings)):
            if known.joins(stage, name, call, latest=age == 0):
                if not known.described:
                    self._describe(known, call, outer)
                elif call.kind is CompileKind.TRANSFORMED is not known.raw.kind:
                    # jax 0.8 traces the function with the transform's tracers first.
                    self._read_call(known.raw, call, outer)
                if compiles_stage:
                    self._attempt(_read_stage, known.raw, known.raw)
                return known
        if compiles_stage and (known := self._lowered_elsewhere(name, call)) is not None:
            return known
        new = new_compile(stage, name)
        if call.kind is CompileKind.AOT and call.args is None:
            # `.compile()` again, of a stage that was compiled before.
            same = [c.raw for c in siblings if c.name == name and c.raw.call]
            self._attempt(_read_stage, new.raw, same[-1] if same else None)
        self._describe(new, call, outer)
        siblings.append(new)
        return new

    def _lowered_elsewhere(self, name: str, call: _jax.JaxCall) -> OpenCompile | None:
        """The compilation of this name that another thread lowered, continued here."""
        for known in reversed(tuple(self._lowered)):
            if known.joins(CompileStage.XLA, name, call, latest=False):
                known.stage = CompileStage.XLA  # no third thread joins it
                self._attempt(_read_stage, known.raw, known.raw)
                for block in self._collecting():
                    if all(raw is not known.raw for raw in block.raw):
                        block.raw.append(known.raw)
                return known
        return None

    def _describe(
        self, compile: OpenCompile, call: _jax.JaxCall, outer: OpenCompile | None
    ) -> None:
        """Fill in the caller and the arguments, and add the compilation to the history."""
        raw = compile.raw
        compile.described, compile.keys = True, call.keys
        compile.request_id, compile.function_id = call.request_id, id(call.fun)
        raw.fun_name = name_of(call.fun, call.name or raw.fun_name)
        raw.frames = self._attempt(user_frames, inspect.currentframe()) or ()
        if outer is not None:
            raw.inside = outer.raw.fun_name
            # A function that was only traced inside another compilation has no number.
            raw.parent = outer.raw.number or outer.raw.parent
        self._read_call(raw, call, outer)
        self.history.add(raw)
        for block in self._collecting():
            block.raw.append(raw)

    def _collecting(self) -> Sequence[BlockCompiles]:
        """The open blocks of this thread, or of the one thread that may have started it."""
        if self.here.blocks or not self.blocks:
            return tuple(self.here.blocks)
        here, found = threading.current_thread(), tuple(self.blocks)
        one = len({block.thread for block in found}) == 1
        return [block for block in found if one and here not in block.others]

    def _read_call(self, raw: RawCompile, call: _jax.JaxCall, outer: OpenCompile | None) -> None:
        nested = outer is not None and call.kind in (CompileKind.JIT, CompileKind.TRANSFORMED)
        raw.kind = CompileKind.NESTED if nested else call.kind
        with self._own_work():
            self._attempt(self._read_signature, raw, call)
            self._attempt(self._look_back, raw, call)

    def _read_signature(self, raw: RawCompile, call: _jax.JaxCall) -> None:
        """Fill in the signature; nothing when JAX's frames do not show the arguments."""
        if call.args is None:
            self.incomplete += not call.complete
            return
        raw.call = self.reader.read(call)
        self.incomplete += not raw.call.complete
        known = raw.call.function
        alone = call.kind is CompileKind.AOT and known.file and is_user_file(known.file)
        if not raw.frames and (known.cell_id or alone):
            # No user code calls it: the place is that of the line magic that does, or, of a cell as
            # one program and in a thread of a benchmark, its own.
            own = known.file != CALL_FILE and is_user_file(known.file)
            if not own or not known.cell_id or known.called:
                raw.frames = user_frames(inspect.currentframe(), limit=1, of_magic=True)
            if own and not raw.frames:
                raw.frames = (RawFrame(known.file, known.name, known.line, known.line, None, None),)

    def _look_back(self, raw: RawCompile, call: _jax.JaxCall) -> None:
        """Fill in what can only be known now: whether the earlier function is gone, and with which
        calls JAX had traced this one before the listener began."""
        if raw.call is None:
            return
        latest = self.history.latest(raw)
        if latest is not None and latest.call is not None:
            raw.orphaned = not self.reader.ids.alive(latest.call.function.object_id)
        raw.before = self._earlier.look_back(raw.call, call) or raw.before


def _read_stage(raw: RawCompile, lowered: RawCompile | None) -> None:
    """Fill in the signature of a `.compile()`, whose frames show its options and no arguments."""
    given = _jax.stage_options()
    call = lowered.call if lowered is not None else None
    if call is not None:
        kept = tuple([pair for pair in call.options if pair[0] != "compiler_options"])
        raw.call = replace(call, options=(*kept, *given) if given else call.options)
