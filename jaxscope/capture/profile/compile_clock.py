"""A clock for the compilations of a block: lines while JAX traces, events while XLA compiles."""

from __future__ import annotations

import contextlib
import linecache
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from jaxscope.analysis.compiles.compile_events import XlaPart, xla_parts
from jaxscope.analysis.compiles.compile_time import (
    ClockedCompile,
    EquationGroup,
    Line,
    compile_time,
)
from jaxscope.analysis.hlo import HloModule, parse_module, too_long
from jaxscope.capture import _jax
from jaxscope.capture.compiles.equation_lines import equation_groups
from jaxscope.capture.compiles.history import BlockCompiles
from jaxscope.capture.compiles.listener import Listener, collecting
from jaxscope.capture.compiles.open_compile import CompileStage
from jaxscope.capture.compiles.raw_compile import RawCompile
from jaxscope.capture.profile import profiler
from jaxscope.capture.source.frames import frame_of, is_user_file
from jaxscope.capture.source.sources import as_typed
from jaxscope.model.compiler.compile_time import CompileTime
from jaxscope.model.compiles import Persistent
from jaxscope.model.stage import Unavailable

_EVERY_S = 0.004
"""Between two looks at the line. A thread gets Python's lock after at most 5 ms."""
_NOTHING = Unavailable("nothing was compiled")


@dataclass(slots=True)
class _Program:
    """The parts of a compilation that must be taken while it happens."""

    groups: tuple[EquationGroup, ...] = ()
    xspace: bytes = b""
    executable: Any = None


class CompileClock:
    """Clocks the compilations of this thread between `begin` and `end`; neither raises."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._block: BlockCompiles | None = None
        self._stack = contextlib.ExitStack()
        self._session: profiler.Recording | None = None
        self._jaxpr: Any = None
        self._programs: dict[int, _Program] = {}
        self._samples: dict[Line, float] = {}
        self._session_s = 0.0
        self._notes: dict[str, None] = {}
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    def begin(self) -> None:
        """Start to clock."""
        try:
            self._block = self._stack.enter_context(
                collecting(
                    self._listener,
                    on_lowering_start=self._lowering,
                    on_xla_start=self._compiling,
                    on_compiled=self._compiled,
                )
            )
            stages = self._listener.open_stages
            here = (threading.get_ident(), stages)
            self._thread = threading.Thread(
                target=self._sample, args=here, name="jaxscope line clock", daemon=True
            )
            self._thread.start()
        except Exception as error:
            self._failed(error)

    def end(self) -> None:
        """Stop; a second call does nothing."""
        self._over.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        with contextlib.suppress(Exception):
            self._close()
        with contextlib.suppress(Exception):
            self._stack.close()

    def found(
        self, place: Callable[[str, int], str], texts: Mapping[str, Sequence[str]] | None = None
    ) -> CompileTime | Unavailable:
        """The compile time by line, after the end; `texts` are the lines of files that changed or
        have none."""
        try:
            return self._found(place, texts or {})
        except Exception as error:
            return Unavailable(f"the events could not be read ({type(error).__name__}: {error})")

    # While JAX works.

    def _sample(self, thread: int, stages: Callable[[], CompileStage | None]) -> None:
        before = time.perf_counter()
        while not self._over.wait(_EVERY_S):
            now = time.perf_counter()
            passed, before = now - before, now
            if stages() is not CompileStage.TRACE:
                continue
            line = _line_of(thread)
            if line is not None:
                self._samples[line] = self._samples.get(line, 0.0) + passed

    def _lowering(self, name: str) -> None:
        self._jaxpr = _jax.traced_jaxpr() or _jax.lowering_jaxpr()

    def _compiling(self, name: str) -> None:
        began = time.perf_counter()
        if self._session is not None:
            self._close()
        try:
            self._session = profiler.opened()
        except profiler.ProfilerBusyError:
            self._busy()
        except Exception as error:
            self._failed(error)
        self._session_s += time.perf_counter() - began

    def _compiled(self, raw: RawCompile) -> None:
        jaxpr, self._jaxpr = self._jaxpr, None
        made = self._programs.setdefault(raw.number, _Program())
        made.xspace = self._close()
        program = _jax.compiled_program()
        made.executable = None if program is None else program.executable
        if jaxpr is not None:
            made.groups = equation_groups(jaxpr)

    def _close(self) -> bytes:
        session, self._session = self._session, None
        if session is None:
            return b""
        began = time.perf_counter()
        try:
            session.close()
        except profiler.ProfilerBusyError:
            self._busy()
        finally:
            self._session_s += time.perf_counter() - began
        return session.xspace

    def _busy(self) -> None:
        self._notes["Another profiler session is open, so the seconds of XLA are not split."] = None

    def _failed(self, error: Exception) -> None:
        why = f"{type(error).__name__}: {error}".partition("\n")[0]
        self._notes[f"The clock of compile time is incomplete ({why})."] = None

    # After it.

    def _found(
        self, place: Callable[[str, int], str], texts: Mapping[str, Sequence[str]]
    ) -> CompileTime | Unavailable:
        observed = self._block.raw if self._block else ()
        raws = [raw for raw in observed if raw.happened]
        if not raws:
            return _NOTHING
        lowered = [raw for raw in raws if raw.lower_s and raw.number not in self._programs]
        if self._jaxpr is not None and len(lowered) == 1:  # a reused program
            self._programs[lowered[0].number] = _Program(equation_groups(self._jaxpr))
        notes = list(self._notes)
        if lowered == raws and not any(raw.error for raw in raws):
            notes.append("XLA compiled nothing.")
        cached = [raw for raw in raws if raw.persistent is Persistent.HIT]
        if cached:
            names = ", ".join(dict.fromkeys(f"`{raw.fun_name}`" for raw in cached))
            notes.append(f"XLA compiled nothing for {names}: from the persistent cache.")
        if errors := dict.fromkeys(raw.error for raw in raws if raw.error):
            notes.append(f"{', '.join(errors)} ended a compilation: these are its seconds so far.")
        found = compile_time(
            [self._clocked(raw) for raw in raws],
            self._samples,
            is_user_file,
            lambda file: texts.get(file) or _lines_of(file),
            place,
            notes,
        )
        self._programs.clear()
        return replace(found, session_s=self._session_s)

    def _clocked(self, raw: RawCompile) -> ClockedCompile:
        made = self._programs.get(raw.number, _Program())
        cached = raw.persistent is Persistent.HIT
        parts: tuple[XlaPart, ...] = ()
        if made.xspace and not cached:
            session = profiler.Recording(lambda: made.xspace)
            session.close()
            parts = xla_parts(session.events(), raw.compile_s)
        module = None if cached else _module(made.executable)
        site = (raw.frames[0].file, raw.frames[0].line) if raw.frames else None
        # JAX's own function, such as that of an eager operation, has no line of the user's.
        groups = [g if g.stack or site is None else replace(g, stack=(site,)) for g in made.groups]
        return ClockedCompile(
            site,
            raw.trace_s,
            raw.lower_s,
            raw.compile_s,
            tuple(groups),
            parts,
            module,
        )


def _line_of(thread: int) -> Line | None:
    """The innermost line of the user's that a thread executes.

    No frame outlives the call: it would keep the tracers of its function.
    """
    frame = frame_of(thread)
    while frame is not None and not is_user_file(frame.f_code.co_filename):
        frame = frame.f_back
    return None if frame is None else (frame.f_code.co_filename, frame.f_lineno)


def _module(executable: Any) -> HloModule | None:
    with contextlib.suppress(Exception):
        text = "\n\n".join(module.to_string() for module in executable.hlo_modules())
        return None if too_long(text) else parse_module(text)
    return None


def _lines_of(file: str) -> Sequence[str]:
    return as_typed("".join(linecache.getlines(file))).splitlines()


@contextlib.contextmanager
def clocking(listener: Listener) -> Generator[CompileClock]:
    """Clock the compilations of the block on this thread."""
    clock = CompileClock(listener)
    clock.begin()
    try:
        yield clock
    finally:
        clock.end()
