"""One trace of the user's code: what it may not change or keep is checked, and put back."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Generator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager
from types import CodeType
from typing import Any

import jax

from jaxscope import words
from jaxscope.analysis.python.cell import CellSyntax
from jaxscope.capture import _jax
from jaxscope.capture.forms.array_writes import writes_noted
from jaxscope.capture.forms.fresh_arrays import Place, places_of, swap
from jaxscope.capture.forms.reads import MISSING, Reads
from jaxscope.capture.forms.side_effects import (
    TextAsked,
    imports_run_eagerly,
    noted,
    texts_noted,
    thread_errors_noted,
    types_noted,
)
from jaxscope.capture.inputs.inputs import Inputs, Substituted
from jaxscope.capture.inputs.leaks import weakly_kept
from jaxscope.capture.inputs.mutation import (
    MOST_OBJECTS,
    below,
    contents,
    find_tracer,
    same_contents,
)
from jaxscope.capture.inputs.pytrees import Copies
from jaxscope.capture.inputs.results import Outcome
from jaxscope.capture.options.composition import Composition
from jaxscope.capture.options.error_origin import calls_user_code
from jaxscope.capture.options.refusals import (
    RetracedError,
    assigns_global,
    assigns_nonlocal,
    changed_in_place,
    changes_array,
    keeps_results,
    refers_weakly,
    sees_tracer,
    swallowed,
    uses_in_thread,
    uses_text,
)


class Trial:
    """Values that the code can reach, snapshotted before the trace to find and undo changes."""

    def __init__(self, reads: Reads, syntax: CellSyntax, file: str) -> None:
        """`file` is that of the code, in which the lines of errors are looked up."""
        self.reads = reads
        self._syntax = syntax
        self.file = file
        stored = [change.name for change in syntax.changes if change.how == "attribute"]
        self._snapshot = reads.snapshot(stored)
        self.earlier = reads.contents()
        """Contents of modules, classes and closure cells, by identity."""

    def notes(self) -> tuple[str, ...]:
        """A note where not everything can be snapshotted."""
        if not self._snapshot.partial:
            return ()
        most = words.count(MOST_OBJECTS, "object")
        note = (
            f"The inputs hold more than {most}: in-place changes of the rest are not detected. "
            "Pass only the part that is needed."
        )
        return (note,)

    def undo(self) -> None:
        """Restore the objects of libraries: a cell that fails changes none."""
        self._snapshot.restore_libraries()

    @contextmanager
    def running(
        self,
        copies: Copies,
        scopes: Sequence[MutableMapping[str, Any]],
        inputs: Mapping[str, Any] | None = None,
    ) -> Generator[None]:
        """Trace the user's code inside this block; the scopes are bound as before afterwards.

        With `inputs`, names of the only scope are bound to them, and the code may bind names.
        Raises RefusedError for changes in place and, without `inputs`, for names that it assigns.
        """
        held = [(made, contents(made), path) for made, path in copies]
        before = [(scope, dict(scope)) for scope in scopes]
        for scope in scopes if inputs is not None else ():
            scope.update(inputs or {})
        assigned = None
        in_threads: list[int | None] = []
        swapped = swap(places_of(self.reads, self._snapshot, copies), copies)
        try:
            with (
                self._snapshot.arrays_locked(),
                imports_run_eagerly(),
                thread_errors_noted(self.file, in_threads),
                noted(self.file) as caught,
            ):
                yield
        except Exception:
            if in_threads:  # what the thread should have left is missing
                raise uses_in_thread(in_threads[0]) from None
            raise
        finally:
            for place, copy, array in swapped:
                place.put_back(copy, array)
            for scope, names in before:
                changed = (n for n in (*names, *scope) if not _same(n, names, scope))
                assigned = assigned or next(changed, None)
                restore(scope, names)
            changes = self._snapshot.changes()
            self._snapshot.restore()
            rebound = _rebound(self.reads.cells)
        if in_threads:
            raise uses_in_thread(in_threads[0])
        made = {id(copy) for _, copy, _ in swapped}
        for name, cached in self.reads.caches:
            if find_tracer(cached):
                cached.cache_clear()
                raise keeps_results(name, self._syntax)
            if made and any(id(item) in made for item in below(cached)):
                cached.cache_clear()  # later calls would get the copies
        if caught:
            raise swallowed(caught[0])
        changed = [(change.path, change.container) for change in changes] + [
            (path, made) for made, was, path in held if not same_contents(was, contents(made))
        ]
        if changed:
            raise changed_in_place(*changed[0], self._syntax)
        if rebound:
            raise assigns_nonlocal(rebound)
        if assigned is not None and inputs is None:
            raise assigns_global(assigned)


class TracedForm(ABC):
    """A cell or a call as one program to trace: its inputs, the trace, and its outcome."""

    noun = ""
    """`this cell`, for errors."""
    where = ""
    """`Line 1: ` where the options are on a cell's first line."""
    silenced = False
    value_line: int | None = None
    """Line of the value to differentiate; None without a derivative."""

    def __init__(
        self,
        inputs: Inputs,
        trial: Trial,
        composition: Composition,
        namespace: MutableMapping[str, Any],
    ) -> None:
        self.inputs = inputs
        self._trial = trial
        self._composition = composition
        self._namespace = namespace
        self._outcome: Outcome | None = None
        self.originals: Mapping[int, tuple[Any, Any]] = {}
        """By identity: a tracer, and the user's value that it replaced."""
        self.value: Any = None
        """Under a derivative: the value to differentiate, with tracers as its leaves."""
        self.texts: Sequence[TextAsked] = ()
        """The uses of a tracer's text by the user's code."""
        self._released = False

    def functions(self) -> Mapping[str, Any]:
        """By name: the functions, classes and modules that a cell reads; they are not inputs."""
        return {}

    def release(self) -> None:
        """Let go of all values, once nothing asks for them: JAX keeps the function that it traced,
        and would keep arrays that the user has replaced."""
        vars(self).clear()
        self._released = True

    def check_held(self) -> None:
        """Raise RetracedError once it is released: JAX has dropped a program, and traces again."""
        if self._released:
            raise RetracedError(self.noun)

    def program(self, *packed: Any) -> list[Any]:
        """Run the user's code on tracers; the outputs are the traced leaves of its results."""
        self.check_held()
        inputs = self.inputs.substitute(packed, aliases=self._composition.is_plain)
        if self._outcome is not None:
            if not _checks_results() or _jax.is_tracing():
                raise RetracedError(self.noun)
            # JAX looks for the operation that gave a NaN, which raises on its line.
            return self._run(inputs).traced
        self.originals = inputs.originals
        outcome = self._run(inputs)
        used = next((asked for asked in self.texts if not asked.shown), None)
        if used is not None:
            raise uses_text(used.line)
        inputs_traced = [tracer for tracer, _ in inputs.originals.values()]
        if weakly_kept([*inputs_traced, *outcome.traced]):
            raise refers_weakly()
        self._outcome = outcome
        return outcome.traced

    @abstractmethod
    def _run(self, inputs: Substituted) -> Outcome:
        """The outcome of the user's code on these values."""

    @contextmanager
    def _running(
        self,
        inputs: Substituted,
        scopes: Sequence[MutableMapping[str, Any]],
        values: Mapping[str, Any] | None = None,
    ) -> Generator[None]:
        """As `Trial.running`; raises RefusedError also for a decision on a tracer's Python type,
        and for a change of a NumPy array."""
        file = self._trial.file
        with (
            self._trial.running(inputs.copies, scopes, values),
            texts_noted(file) as self.texts,
            writes_noted(self.original, self.inputs.path_of, file) as writes,
        ):
            with types_noted(scopes, self.original, file) as types:
                try:
                    yield
                except Exception:
                    if not types:
                        raise
            if types:
                asked = types[0]
                path = self.inputs.path_of(asked.value)
                raise sees_tracer(asked.function, path, asked.value, asked.line)
            if writes:
                write = writes[0]
                raise changes_array(self.inputs.path_of(write.value), write.how, write.line)

    @property
    def outcome(self) -> Outcome:
        """The names that the code bound, and its value. Raises RuntimeError before the trace."""
        if self._outcome is None:
            raise RuntimeError(f"{self.noun} has not been traced yet")
        return self._outcome

    def given(self) -> frozenset[str]:
        """The paths of the inputs that are results as they are."""
        found = {id(value) for value in self.outcome.given}
        leaves = self.inputs.arguments.leaves
        return frozenset(leaf.path for leaf in leaves if id(leaf.value) in found)

    def finalize(self, results: Sequence[Any]) -> Any:
        """Bind the results of a cell, and update Flax NNX objects; the value."""
        outcome = self.outcome
        names, value, finalize = outcome.finalized(results)
        if self.inputs.objects is not None and outcome.objects is not None:
            self.inputs.objects.update(outcome.objects, finalize)
        self._namespace.update(names)
        for name in outcome.deleted:
            self._namespace.pop(name, None)
        for shown in outcome.shown:
            sys.displayhook(finalize(shown))
        return value

    def original(self, tracer: Any) -> Any:
        """The user's value that a tracer replaces; the tracer itself where it replaces none."""
        return self.originals.get(id(tracer), (tracer, tracer))[1]

    @abstractmethod
    def read_unbound(self) -> None:
        """Raise Python's own NameError, on its line, for a name that is read and bound nowhere."""

    def notes(self) -> tuple[str, ...]:
        """Notes about the trace, known before it."""
        return self._trial.notes()

    def undo(self) -> None:
        """Restore what the trace may leave changed, where a later step fails."""
        self._trial.undo()

    def traced_objects(self) -> list[Any]:
        """The attributes that hold tracers after the trace."""
        return [self._outcome, self.originals, self.value]

    def earlier(self) -> Mapping[int, Any]:
        """Contents of modules, classes and closure cells before the trace, by identity."""
        return self._trial.earlier

    def absent(self, name: str) -> str:
        """The reason why a name is not an input, after `which`."""
        return f"is not an input of {self.noun}"


def _checks_results() -> bool:
    """Whether JAX runs code once more, operation by operation, where a result is not finite."""
    return any(getattr(jax.config, name, False) for name in ("jax_debug_nans", "jax_debug_infs"))


@calls_user_code
def execute(code: tuple[CodeType, CodeType | None], namespace: MutableMapping[str, Any]) -> Any:
    """Run the statements of a cell, then its last expression; the value of that."""
    __tracebackhide__ = True
    exec(code[0], namespace)  # type: ignore[arg-type]
    return None if code[1] is None else eval(code[1], namespace)  # type: ignore[arg-type]


def restore(namespace: MutableMapping[str, Any], before: Mapping[str, Any]) -> None:
    """Bind every name of the namespace as before."""
    for name in namespace.keys() - before.keys():
        del namespace[name]
    for name, value in before.items():
        if namespace.get(name, MISSING) is not value:
            namespace[name] = value


def _rebound(cells: Sequence[tuple[str, Any, Any]]) -> str:
    """The first variable of a closure that is not bound as before; all are afterwards."""
    found = ""
    for name, cell, value in cells:
        if Place(cell).value() is not value:
            cell.cell_contents = value
            found = found or name
    return found


def _same(name: str, before: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    return before.get(name, MISSING) is now.get(name, MISSING)
