"""Who asked for a compile, with what: read while JAX works, since much of it is gone after."""

from __future__ import annotations

import threading
from dataclasses import replace

from jaxscope.analysis.compiles.causes import Signature
from jaxscope.capture import _jax
from jaxscope.capture.compiles.earlier_traces import traces
from jaxscope.capture.compiles.history import History
from jaxscope.capture.compiles.raw_compile import RawCompile
from jaxscope.capture.compiles.signature import Reader, parameter_names
from jaxscope.capture.source.frames import RawFrame, is_user_file
from jaxscope.model.compiles import CompileKind


class Caller:
    """Reads calls for one listener. Called inside `own_work`: what a value of the user's computes
    to describe itself is not theirs."""

    def __init__(self) -> None:
        self.reader = Reader()
        self.traced: _jax.TracedFunctions | None = None
        """What JAX had traced when the listening began; None when it cannot say."""
        self._lock = threading.RLock()

    def read(self, raw: RawCompile, call: _jax.JaxCall) -> None:
        """Fills in the signature; nothing when JAX's frames do not show the arguments."""
        if call.args is None:
            return
        with self._lock:
            raw.call = self.reader.read(call)
        known = raw.call.function
        staged = call.kind is CompileKind.AOT and known.file and is_user_file(known.file)
        if not raw.frames and (known.origin or staged):
            # A cell as one program, or one of a benchmark: no code of the user's calls it.
            raw.frames = (RawFrame(known.file, known.name, known.line, known.line, None, None),)

    def read_stage(self, raw: RawCompile, known: Signature | None) -> None:
        """The signature of a `.compile()`, whose frames show its options and no arguments."""
        given = _jax.stage_options()
        if known is not None:
            kept = tuple([pair for pair in known.options if pair[0] != "compiler_options"])
            raw.call = replace(known, options=(*kept, *given) if given else known.options)

    def look_back(self, raw: RawCompile, call: _jax.JaxCall, history: History) -> None:
        """What only can be known now: whether an earlier function is gone, what JAX had traced of
        this one before anybody listened."""
        if raw.call is None:
            return
        latest = history.latest(raw)
        if latest is not None and latest.call is not None:
            raw.orphaned = not self.reader.serials.alive(latest.call.function.serial)
        fun = call.fun
        if fun is None or raw.call.eager:
            return
        known = None if self.traced is None else self.traced.count(fun)
        met = history.met(raw, None if known is None else known > 0)
        # Under a transform the arguments are not those that the function is traced with.
        if known and not met and not raw.call.transform:
            found = _jax.earlier_traces(fun)[:known]
            places = [p for trace in found for p, _ in trace.statics if isinstance(p, int)]
            names = parameter_names(call, max(places, default=-1) + 1)
            with self._lock:
                raw.before = traces(raw.call, names, found, self.reader.serials)
