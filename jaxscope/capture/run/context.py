"""The context of a run (namespace, listener, caches), the values of its steps, and its result."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Generator, Mapping, MutableMapping
from contextlib import ExitStack, contextmanager
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any

import jax

from jaxscope.analysis.python.cell import CellText
from jaxscope.capture import _jax
from jaxscope.capture.compiles.history import BlockCompiles
from jaxscope.capture.compiles.listener import Listener, collecting
from jaxscope.capture.inputs.arguments import Arguments
from jaxscope.capture.options.settings import Settings
from jaxscope.capture.profile.compile_clock import CompileClock, clocking
from jaxscope.capture.program.compile import Captured, Say, device_and_precision
from jaxscope.capture.program.request import CompileRequest, Programs
from jaxscope.capture.run.held_call import HeldCall
from jaxscope.capture.run.measure import Measured
from jaxscope.capture.source.sources import SourceFiles
from jaxscope.capture.timing.peaks import PeakCache
from jaxscope.capture.timing.timed_calls import place
from jaxscope.model import Form, Record, Source, TextSource, Timing, Unavailable, Value
from jaxscope.model.compiler.compile_time import CompileTime


def debugged() -> str:
    """The setting under which JAX cannot compile as jaxscope asks it to, as a reason."""
    for name in ("jax_disable_jit", "jax_check_tracer_leaks"):
        if getattr(jax.config, name, False):
            return f"{name} is on"
    return ""


@dataclass(frozen=True, slots=True)
class RunContext:
    """The context of a run: the user's namespace, the listener, and caches."""

    namespace: MutableMapping[str, Any]
    listener: Listener
    peaks: PeakCache
    cell_name: Callable[[str], str | None] = lambda file: None
    programs: Programs | None = None
    _: KW_ONLY
    say: Say = lambda phase: None
    interrupted: Callable[[CompileTime], None] = lambda found: None
    """Gets the compile time of a run that was interrupted, where it was requested."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Invocation:
    """One magic or one `inspect`: the settings and sources that its runs share."""

    title: str
    form: Form
    settings: Settings
    context: RunContext
    sources: SourceFiles
    device: Any
    """The device that the settings name, or None for JAX's default."""
    compiles: BlockCompiles
    """Compiles since it began."""
    began: float
    """Seconds of `time.perf_counter`."""
    clock: CompileClock | None = None
    """Clocks the compilations, where that was requested."""

    def compile_time(self) -> CompileTime | Unavailable | None:
        """The compile time by line, where it was requested, once the clock has ended."""
        if self.clock is None:
            return None
        names = {source.file: source.name for source in self.sources.all()}
        texts = {source.file: source.lines for source in self.sources.all()}

        def place(file: str, line: int) -> str:
            name = names.get(file) or self.context.cell_name(file) or os.path.basename(file)
            return f"{name}:{line}"

        return self.clock.found(place, texts)


@contextmanager
def invocation(
    title: str, form: Form, settings: Settings, context: RunContext, source: Source | None
) -> Generator[Invocation]:
    """Apply the settings and collect compiles while the runs of the invocation take place."""
    began = time.perf_counter()
    sources = SourceFiles(source, context.cell_name)
    with ExitStack() as stack:
        device = stack.enter_context(device_and_precision(settings))
        compiles = stack.enter_context(collecting(context.listener))
        clock = None
        if settings.compile_time:
            clock = stack.enter_context(clocking(context.listener))
        given = Invocation(
            title=title,
            form=form,
            settings=settings,
            context=context,
            sources=sources,
            device=device,
            compiles=compiles,
            began=began,
            clock=clock,
        )
        try:
            yield given
        except KeyboardInterrupt:
            if clock is not None:
                clock.end()
                found = given.compile_time()
                if isinstance(found, CompileTime):
                    context.interrupted(found)
            raise


# The values of the steps, besides `TracedProgram`, `Captured` and `Measured`.


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramFacts:
    """Facts about a program that only its form has."""

    arguments: Arguments | None = None
    labels: tuple[str, ...] = ()
    """Names of the results; empty for JAX's own order."""
    given: frozenset[str] = frozenset()
    """Paths of the inputs that are results as they are, and that the program may not take."""
    statics: tuple[Value, ...] = ()
    python: str = ""
    """The program as plain JAX."""
    mapped: Mapping[str, str] = field(default_factory=dict[str, str])
    """Mapped axes of the inputs, by path, where `arguments` does not have them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WrappedCall:
    """The value of the step `read`: JAX's function, its arguments, and the way of its results."""

    request: CompileRequest
    arguments: Arguments | None = None
    """Named arguments that may still have to move to the device."""
    transfer: Timing | None = None
    """The time of that."""
    stage: Any = None
    """A `Traced`, `Lowered` or `Compiled` of the user's, in place of the function."""
    stage_arguments: tuple[tuple[Any, ...], Mapping[str, Any]] = ((), {})
    """Arguments to run that stage with; empty to run nothing."""
    again: bool = False
    """The user's own call has run already: a program with effects is not run again."""
    jax_settings: _jax.JaxSettings = ()
    """Those at that call, under which it is traced, compiled and timed; empty for those of now."""
    finalize: Callable[[Any], Any] = lambda results: results
    """From the program's results, the user's value; writes what the code binds."""
    facts: Callable[[Captured], ProgramFacts] = lambda captured: ProgramFacts()
    """Called once the run is over."""
    notes: tuple[str, ...] = ()

    @property
    def call(self) -> tuple[tuple[Any, ...], Mapping[str, Any]] | None:
        """The arguments to run the program with; None to compile only."""
        if self.stage is not None:
            return self.stage_arguments if any(self.stage_arguments) else None
        return self.request.args, self.request.kwargs

    def placed(self, device: Any) -> WrappedCall:
        """The call with its NumPy arguments on the device, so that no run includes the transfer."""
        if self.arguments is None:
            return self
        values, transfer = place([leaf.value for leaf in self.arguments.leaves], device)
        request = replace(self.request, args=self.arguments.pack(values))
        return replace(self, request=request, transfer=transfer)


@dataclass(frozen=True, slots=True)
class FinishedRun:
    """The value of the step `run`: a program with its results and timings."""

    wrapped: WrappedCall
    captured: Captured
    measured: Measured
    value: Any
    """The user's value; None where the program was not run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOrigin:
    """The code of a run and the namespace that it read, to build its programs again."""

    form: Form
    settings: Settings
    namespace: MutableMapping[str, Any] = field(repr=False)
    text: CellText | None = None
    """The cell; None for a call."""
    expression: str = ""
    """The call of a line magic."""
    held: HeldCall | None = field(default=None, repr=False)
    """The call of `jaxscope.inspect`."""


@dataclass(frozen=True, slots=True)
class Ran:
    """The result of an invocation: its value, its record, and the live texts of its programs."""

    value: Any
    record: Record
    texts: tuple[TextSource, ...] = field(repr=False)
    failure: str = ""
    """One line on what jaxscope could not do; usually empty."""
    error: BaseException | None = None
    """An exception of the user's code, where the record covers the run until then."""
    origin: RunOrigin | None = None
    """None where the programs cannot be built again."""
