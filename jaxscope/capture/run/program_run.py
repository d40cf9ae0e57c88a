"""One program as one `Run`: read → trace → compile → run → describe.

Each step gives a frozen value, so that a step may be replaced, repeated or left out.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Protocol

import jax

from jaxscope.capture import _jax
from jaxscope.capture.forms.trial import TracedForm
from jaxscope.capture.inputs.leaks import TracerNet
from jaxscope.capture.options.refusals import (
    RefusedError,
    keeps_tracer,
    moves_data,
    not_lowered,
)
from jaxscope.capture.program.compile import (
    Captured,
    compile_program,
    trace_program,
    traced_by_user,
    uncompiled,
)
from jaxscope.capture.program.request import CompileRequest, Programs, TracedProgram
from jaxscope.capture.program.target_mesh import context as mesh_context
from jaxscope.capture.program.target_mesh import on_mesh
from jaxscope.capture.run import record
from jaxscope.capture.run.context import FinishedRun, Invocation, WrappedCall
from jaxscope.capture.run.measure import measure
from jaxscope.capture.source.frames import position
from jaxscope.model import Form


class Subject(Protocol):
    """Code to run as one program: a cell in block form, a call, a call that a cell has made."""

    def read(self, device: Any = None, programs: Programs | None = None) -> WrappedCall:
        """JAX's function and its arguments. `programs` may be reused."""
        ...

    @property
    def traceable(self) -> TracedForm | None:
        """The code that is traced, once it was read; None where JAX traces it alone."""
        ...

    def explained(self, request: CompileRequest | None = None) -> AbstractContextManager[None]:
        """Add a sentence to errors of the block; `request` is given while it is being compiled."""
        ...


@dataclass(frozen=True, slots=True)
class Run:
    """One program in five steps: read → trace → compile → run → describe."""

    _subject: Subject
    _given: Invocation

    @property
    def sharded(self) -> bool:
        """Whether its inputs are shapes on a mesh of a target."""
        return self._given.settings.mesh_plan is not None

    def read(self) -> WrappedCall:
        """Find the inputs and the function that JAX shall trace."""
        device, programs = self._given.device, self._given.context.programs
        with self._subject.explained():
            wrapped = self._subject.read(device, programs)
        return wrapped.placed(device)

    def trace(self, wrapped: WrappedCall) -> TracedProgram:
        """Run the user's code on tracers."""
        sources, say = self._given.sources, self._given.context.say
        if wrapped.stage is not None:
            return traced_by_user(wrapped.stage)
        request, plan = wrapped.request, self._given.settings.mesh_plan
        if plan is not None:
            request = on_mesh(request, plan, one_of_many=self._given.form is Form.FUNCTION)
        with self._subject.explained(request), self.undoing():
            with TracerNet() as net, mesh_context(plan):
                traced = trace_program(request, sources, say)
                made, kept = self._subject.traceable, list[Any]()
                if made is not None:
                    with suppress(Exception):  # the search is a net below the snapshot's
                        kept = net.kept(made.traced_objects())
            if made is not None and kept and (place := net.released(kept, made.earlier())):
                raise keeps_tracer(place)
            if made is not None and plan is None and self._given.settings.target is None:
                refusal = None
                with suppress(Exception):  # an equation of an unknown form
                    refusal = self._lost_placement(traced)
                if refusal is not None:
                    raise refusal
            return traced

    def _lost_placement(self, traced: TracedProgram) -> RefusedError | None:
        """The refusal where plain Python moves data and the program would not."""
        for equation, place, placed in _jax.placements(traced.traced.jaxpr):
            if not placed and _is_elsewhere(place, traced.request.args):
                pairs = zip(*_jax.code_positions(_jax.traceback_of(equation)), strict=True)
                own = [pair for pair in pairs if self._given.sources.index_of(pair[0]) == 0]
                return moves_data(place, position(*own[0])[0] if own else None)
        return None

    @contextmanager
    def undoing(self) -> Generator[None]:
        """Undo what the trace has changed, where the block fails."""
        try:
            yield
        except BaseException:
            if (form := self._subject.traceable) is not None:
                form.undo()
            raise

    def compile(self, traced: TracedProgram) -> Captured:
        """Lower the program, and compile it unless it is a known one."""
        sources, say = self._given.sources, self._given.context.say
        with self._subject.explained(traced.request), self.undoing():
            try:
                return compile_program(traced, sources, say, self._given.settings.compiled_for)
            except (TypeError, ValueError, AttributeError) as error:
                # JAX 0.10 cannot lower each of its experimental types where a program makes one.
                if getattr(getattr(traced.traced, "jaxpr", None), "is_high", False):
                    raise not_lowered() from error
                raise

    def capture(self, traced: TracedProgram) -> Captured:
        """Compile the program for this machine; for a target, leave that until the cell has run."""
        if self._given.settings.target is None:
            return self.compile(traced)
        return uncompiled(traced, self._given.sources)

    def run(self, wrapped: WrappedCall, captured: Captured) -> FinishedRun:
        """Run the program for its results and time it; write the results, unless it ran before."""
        given = self._given
        given.context.say("running")
        with self._subject.explained():
            measured = measure(
                captured,
                wrapped.call,
                given.settings,
                given.context.listener,
                again=wrapped.again,
                say=given.context.say,
            )
        written = wrapped.again or measured.results is None
        value = None if written else wrapped.finalize(measured.results)
        return FinishedRun(wrapped, captured, measured.with_transfer(wrapped.transfer), value)

    def finished(self) -> FinishedRun:
        """All steps until the results are there; `describe` may follow later."""
        wrapped = self.read()
        with self.undoing(), _jax.with_settings(wrapped.jax_settings):
            return self.run(wrapped, self.compile(self.trace(wrapped)))

    def describe(self, finished: FinishedRun) -> record.Described:
        """The program as data, with its live texts; the values of the run are released."""
        try:
            return record.describe(finished, self._given)
        finally:
            given, form = self._given, self._subject.traceable
            # The calls of a cell are compiled for each target in turn, and released after the last.
            once = given.settings.target is None or given.form is not Form.FUNCTION
            if form is not None and once:
                form.release()


def run_alone(subject: Subject) -> Any:
    """The value by JAX alone: nothing is tagged, timed or described."""
    wrapped = subject.read()
    request = wrapped.request
    return wrapped.finalize(request.jitted(*request.args, **request.kwargs))


def _is_elsewhere(place: Any, args: object) -> bool:
    """Whether this device or sharding is not what a program with these arguments gives a result.

    JAX puts a result on all devices of the program, or on its only one; see jax 0.8.1 to 0.12.
    """
    leaves = [leaf for leaf in jax.tree.leaves(args) if isinstance(leaf, jax.Array)]
    here = set[Any]().union(*(leaf.devices() for leaf in leaves if leaf.committed))
    devices = getattr(place, "device_set", {place})
    if len(devices) == 1:
        return devices != (here or jax.device_put(0.0).devices())
    return not place.is_fully_replicated
