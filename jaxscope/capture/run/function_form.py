"""Function form: a cell runs as plain Python, and the calls of its own functions are compiled.

Each call that the cell's top-level code makes to a function of the cell, or to a transform of one,
goes the way of the line form, `%jaxjit f(x)`. A call that cannot be compiled with the same meaning
runs as plain Python, and a note says why. Every name is bound as plain Python binds it.
"""

from __future__ import annotations

import ast
import contextlib
import io
import sys
from collections.abc import Generator, MutableMapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from types import CodeType, FunctionType, MethodType
from typing import Any

import jax
from jax.core import Tracer

from jaxscope import words
from jaxscope.analysis.python.cell import CellSyntax, CellText
from jaxscope.analysis.python.marked_calls import all_codes, marked, with_hook
from jaxscope.capture.forms.call import FunctionCall
from jaxscope.capture.forms.reads import RandomState, Reads
from jaxscope.capture.forms.reuse import ReusableCall, Signature, signature
from jaxscope.capture.forms.side_effects import SideEffectRecorder, texts_noted, types_noted
from jaxscope.capture.forms.trial import restore
from jaxscope.capture.options import error_origin
from jaxscope.capture.options.error_origin import calls_user_code
from jaxscope.capture.options.refusals import NOTHING_CHANGED, RefusedError, RetracedError
from jaxscope.capture.options.settings import Settings, SettingsError, TransformError
from jaxscope.capture.program.compile import Captured
from jaxscope.capture.run.context import FinishedRun, Invocation, WrappedCall
from jaxscope.capture.run.error_notes import CellErrors
from jaxscope.capture.run.jitted_functions import JittedFunctions
from jaxscope.capture.run.program_run import Run, run_alone
from jaxscope.capture.run.subjects import CallSubject
from jaxscope.capture.transforms import table

MOST_PROGRAMS = 4
"""Programs compiled for one function and the same shapes: more would cost more than they save."""

MOST_TRACES = 16
"""Traces of one function that serve no other call."""

_NOT_CALLED_ALONE = 0x0020 | 0x0080 | 0x0100 | 0x0200
"""Code flags of generators and coroutines."""

_LIBRARIES = ("jax", "jaxlib", "flax", "equinox")
"""Packages whose wrappers are transforms."""


@dataclass(slots=True)
class CompiledCall:
    """One program of the cell, with arguments to time it."""

    subject: CallSubject
    wrapped: WrappedCall
    captured: Captured


class FunctionCell:
    """One run of a cell in function form."""

    def __init__(
        self, text: CellText, settings: Settings, namespace: MutableMapping[str, Any]
    ) -> None:
        self.text = text
        self.settings = settings
        self.namespace = namespace
        self.given: Invocation | None = None
        self.recorder = SideEffectRecorder(text.file)
        self.compiled: list[CompiledCall] = []
        self.jitted = JittedFunctions(text, settings, namespace)
        self.calls = 0
        """Calls that ran compiled."""
        self.plain: dict[tuple[str, str], int] = {}
        """Calls that ran as plain Python, by function and reason."""
        self.failures: list[str] = []
        """Calls that jaxscope itself failed to compile, each as a sentence."""
        self.python: set[str] = set()
        """Functions that computed nothing with JAX."""

    def execute(self, given: Invocation) -> Any:
        """Run the cell in the user's namespace; the value of its last expression.

        Raises SettingsError for `--only` names that the cell does not define, and TransformError
        for transforms where the function to transform is unclear.
        """
        self.given = given
        callees = _Callees(self, self._chosen())
        with self.recorder, self.jitted.recording(given.context.listener, given.sources):
            return self._executed(callees)

    def execute_alone(self) -> Any:
        """Run the cell under its transforms and collect nothing; the value to show."""
        return self._executed(_Callees(self, self._chosen()))

    def runs(self) -> list[tuple[Run, FinishedRun]]:
        """The programs of the cell, timed on the arguments of their first call."""
        given = self.given
        assert given is not None
        found = [Run(call, given) for call in self.jitted.calls]
        made = [(run, run.finished()) for run in found]
        for one in self.compiled:
            run = Run(one.subject, given)
            made.append((run, run.run(one.wrapped, one.captured)))
        return made

    def add(self, subject: CallSubject, wrapped: WrappedCall, captured: Captured) -> None:
        """Count a compiled call; its program is kept once."""
        self.calls += 1
        if not any(one.captured.entry is captured.entry for one in self.compiled):
            self.compiled.append(CompiledCall(subject, wrapped, captured))

    def failed(self, what: str, error: Exception, instead: str) -> None:
        """Note a failure of jaxscope."""
        why = error_origin.reason(error)
        self.failures.append(f"jaxscope could not {what} this call ({why}), so {instead}.")

    def notes(self) -> tuple[str, ...]:
        """Notes about the calls, for the first lines of the report."""
        plain = sum(self.plain.values())
        jitted = {call.name for call in self.jitted.calls}
        failures = dict.fromkeys(self.failures)
        if not self.calls and not plain and not jitted:
            return tuple(failures) or (self._idle(),)
        parts = [words.count(self.calls, "call") + " compiled"] if self.calls or plain else []
        if plain:
            parts.append(f"{plain} as plain Python")
        if jitted:
            parts.append(f"{', '.join(sorted(jitted))} jitted by the cell")
        first = f"function form: {', '.join(parts)} · --block compiles the whole cell"
        return (first, *(_plain_note(*key, n) for key, n in self.plain.items()), *failures)

    def _idle(self) -> str:
        defined = [n for n, d in self.text.syntax.definitions.items() if type(d) is ast.FunctionDef]
        if not defined:
            return (
                "This cell calls no function that it defines, so it ran as plain Python; --block "
                "compiles the whole cell."
            )
        if self.python:
            return (
                f"{', '.join(sorted(self.python))} computed nothing with JAX, so there is no "
                "program; --block compiles the whole cell."
            )
        called = [name for name in self.text.syntax.called_functions if name in defined]
        wrapped = [n for n in called if type(self.namespace.get(n)) is not FunctionType]
        if wrapped:
            names = [f"`{name}`" for name in wrapped]
            return f"{words.listed(names, 3)} ran as decorated, so jaxscope compiled nothing."
        return (
            f"This cell calls no function that it defines, so nothing was compiled. Call "
            f"{defined[0]} here, run %jaxjit {defined[0]}(...), or compile the whole cell with "
            "--block."
        )

    @calls_user_code
    def _executed(self, callees: _Callees) -> Any:
        text, namespace = self.text, self.namespace
        tree = marked(text.syntax.tree)
        codes = [
            None if code is None else with_hook(code, callees)
            for code in replace(text, syntax=CellSyntax(tree)).code()
        ]
        for code in codes:
            callees.know(code)
        before = dict(namespace)
        snapshot = Reads().from_names(namespace, text.syntax.reads).snapshot(text.syntax.bound)
        value: Any = None
        try:
            exec(codes[0], namespace)  # type: ignore[arg-type]
            if codes[1] is not None:
                value = eval(codes[1], namespace)  # type: ignore[arg-type]
        except BaseException as error:
            restore(namespace, before)
            snapshot.restore()
            error_origin.note_that_code_has_run(error)
            raise
        finally:
            callees.close()
        return None if text.silenced else value

    def _chosen(self) -> tuple[str, ...] | None:
        """The functions to compile; None for all of the cell."""
        defined = self.text.syntax.definitions
        only = self.settings.only
        for name in only:
            if name not in defined:
                known = ", ".join(defined) or "none"
                raise SettingsError(
                    f"--only names `{name}`, which this cell does not define. It defines: {known}."
                )
        needed = table.entry_points_needed(self.settings.composition)
        if needed is None:
            return only or None
        found = only or self.text.syntax.called_functions or self.text.syntax.entry_points
        if len(found) != needed:
            raise _unclear(found, self.text.syntax, str(self.settings.composition))
        return found


class _Callees:
    """The hook of a cell: chooses the calls that are compiled."""

    def __init__(self, cell: FunctionCell, chosen: tuple[str, ...] | None) -> None:
        self.cell = cell
        self._chosen = chosen
        self._codes: dict[int, CodeType] = {}
        self._known: dict[Any, Callee] = {}
        self._open = True

    def know(self, code: CodeType | None) -> None:
        """Functions of this code are the cell's."""
        if code is not None:
            self._codes.update({id(one): one for one in all_codes(code)})

    def close(self) -> None:
        """Leave later calls alone: those of a generator that outlives the cell."""
        self._open = False
        self._known.clear()

    def pick(self, function: Any) -> Any:
        """The function itself, or a callee that compiles its calls."""
        if not self._open:
            return function
        if type(function) is FunctionType and id(function.__code__) in self._codes:
            return self._callee(function, function) or function
        try:
            return self._pick_other(function)
        except Exception:
            return function

    def _pick_other(self, function: Any) -> Any:
        kind = type(function)
        if kind is MethodType:
            return self._bound(function.__func__, function, function.__self__)
        if kind is partial:
            inner = self.pick(function.func)
            if inner is function.func:
                return function
            return partial(inner, *function.args, **function.keywords)
        if isinstance(function, type):
            return function
        if _is_transform(function):
            inner = _innermost(function)
            if inner is None or id(inner.__code__) not in self._codes:
                return function
            if _is_jitted(function) and self.cell.settings.composition.is_plain:
                if _package(function) in ("jax", "jaxlib"):
                    self.cell.jitted.add(function, function)
                return function
            return self._callee(function, inner) or function
        return self._bound(vars(kind).get("__call__"), function, function)

    def _bound(self, method: Any, original: Any, owner: Any) -> Any:
        """A method of the cell as a callee that gets its object as the first argument."""
        if not isinstance(method, FunctionType) or id(method.__code__) not in self._codes:
            return original
        callee = self._callee(method, method)
        return original if callee is None else partial(callee, owner)

    def _callee(self, function: Any, inner: FunctionType) -> Callee | None:
        """The callee of a function; None for one that is called as it is."""
        if inner.__code__.co_flags & _NOT_CALLED_ALONE:
            return None
        if self._chosen is not None and inner.__name__ not in self._chosen:
            return None
        key = _token(function)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = Callee(self.cell, function, inner)
        return found


class Callee:
    """One function of a cell, whose calls are compiled."""

    def __init__(self, cell: FunctionCell, function: Any, inner: FunctionType) -> None:
        self._cell = cell
        self._function = function
        self._inner = inner
        self._name = _shown_name(inner)
        self._entries: dict[Any, ReusableCall] = {}
        self._refused: dict[Any, str] = {}
        """Reasons by signature, so that a refused call is not traced again."""
        self._programs: dict[Any, int] = {}
        self._traces = 0
        self._why = ""
        """The reason why no further call is compiled."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._why:
            return self._plainly(self._why, args, kwargs)
        given = signature(args, kwargs)
        if given is not None:
            why = self._refused.get(given.key)
            if why is not None:
                return self._plainly(why, args, kwargs)
            entry = self._entries.get(given.key)
            if entry is not None:
                if entry.holds():
                    try:
                        value = entry.run(given)
                    except RetracedError:
                        pass
                    else:
                        self._cell.calls += 1
                        return value
                del self._entries[given.key]
        return self._traced(args, kwargs, given)

    @calls_user_code
    def _plainly(self, why: str, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        if why:
            key = (self._name, why)
            self._cell.plain[key] = self._cell.plain.get(key, 0) + 1
        return self._function(*args, **kwargs)

    def _traced(self, args: Sequence[Any], kwargs: dict[str, Any], given: Signature | None) -> Any:
        cell = self._cell
        plain = cell.settings.composition.is_plain
        call = FunctionCall(self._function, args, kwargs)
        settings = _settings_of(cell.settings, call)
        namespace = cell.namespace
        if not plain:
            return self._transformed(CallSubject(call, settings, namespace))
        assert cell.given is not None
        try:
            reads = Reads().from_values({self._name: self._function, **call.arguments()})
            why = _certain(reads, args, kwargs)
            random = RandomState(reads.generators)
            subject = CallSubject(call, settings, namespace)
            run = Run(subject, _part(cell.given, self._name))
        except Exception as error:  # nothing of the user's has run
            cell.failed("compile", error, "it ran as plain Python")
            return self._plainly("", args, kwargs)
        if why:
            return self._plainly(why, args, kwargs)
        printed = len(cell.recorder.printed), len(cell.recorder.written)
        try:
            wrapped = run.read()
            with (
                _buffered() as (out, err),
                texts_noted() as texts,
                types_noted(list(reads.scopes.values()), subject.original) as types,
            ):
                traced = run.trace(wrapped)
            if types:
                raise RefusedError(
                    f"`{types[0]}` of a traced number gives something else than in plain Python."
                )
            if texts:
                raise RefusedError(
                    f"{texts[0]}: it uses the text of a traced value. Use `jax.debug.print`."
                )
            if random.changed():
                raise RefusedError("it draws from a random generator. Use `jax.random` with a key.")
            captured = None
            if traced.traced.jaxpr.jaxpr.outvars or traced.traced.jaxpr.effects:
                captured = self._compiled(run, traced, call)
        except Exception as error:
            random.restore()
            del cell.recorder.printed[printed[0] :], cell.recorder.written[printed[1] :]
            if error_origin.is_ours(error, cell.text.file):
                cell.failed("compile", error, "it ran as plain Python")
                return self._plainly("", args, kwargs)
            why = _reason(error, cell, subject)
            if given is not None:
                self._refused[given.key] = why
            return self._plainly(why, args, kwargs)
        sys.stdout.write(out.getvalue())
        sys.stderr.write(err.getvalue())
        if captured is None:
            cell.python.add(self._name)
            return wrapped.finalize([])
        kept = _kept(wrapped)
        results = _results(captured, wrapped)
        cell.add(subject, kept, captured)
        made = subject.plain
        entry = None
        if given is not None and made is not None and not (out.getvalue() or err.getvalue()):
            with contextlib.suppress(Exception):  # then the next call is traced again
                entry = ReusableCall(made, self._function, given, captured)
        value = wrapped.finalize(results)
        if given is not None and entry is not None:
            self._entries[given.key] = entry
            return value
        self._traces += 1
        if self._traces >= MOST_TRACES:
            self._why = (
                "each call was traced again, because it prints or reads values that may change."
            )
        return value

    def _compiled(self, run: Run, traced: Any, call: FunctionCall) -> Captured:
        shapes = tuple([str(aval) for aval in traced.traced.jaxpr.in_avals])
        captured = run.compile(traced)
        if not captured.reused:
            made = self._programs[shapes] = self._programs.get(shapes, 0) + 1
            if made >= MOST_PROGRAMS:
                self._why = _too_many(call)
        return captured

    def _transformed(self, subject: CallSubject) -> Any:
        """A call under transforms: plain Python would mean something else."""
        cell = self._cell
        if cell.given is None:
            return run_alone(subject)
        run = Run(subject, _part(cell.given, self._name))
        try:
            wrapped = run.read()
            captured = run.compile(run.trace(wrapped))
            kept = _kept(wrapped)
            results = _results(captured, wrapped)
        except Exception as error:
            if not error_origin.is_ours(error, cell.text.file):
                raise
            cell.failed("inspect", error, "JAX ran it alone")
            return run_alone(subject)
        cell.add(subject, kept, captured)
        return wrapped.finalize(results)


@calls_user_code
def _results(captured: Captured, wrapped: WrappedCall) -> Any:
    args, kwargs = captured.arguments(wrapped.request.args, wrapped.request.kwargs)
    try:
        return captured.entry.call(*args, **kwargs)
    except RetracedError:
        return captured.entry.compiled(*args, **kwargs)


def _kept(wrapped: WrappedCall) -> WrappedCall:
    """The call with arguments that outlive it, to be timed after the cell."""
    request = wrapped.request
    if wrapped.arguments is not None and wrapped.arguments.donated:
        copied = jax.tree_util.tree_map(
            lambda leaf: leaf.copy() if isinstance(leaf, jax.Array) else leaf, request.args
        )
        request = replace(request, args=copied)
    return replace(wrapped, request=request, again=True)


def _part(given: Invocation, name: str) -> Invocation:
    """The invocation with the programs of one function of the cell."""
    programs = given.context.programs
    part = None if programs is None else programs.part(name)
    return replace(given, context=replace(given.context, programs=part))


def _settings_of(settings: Settings, call: FunctionCall) -> Settings:
    """The settings with those of the named inputs that this call has."""
    if not (settings.static or settings.traced or settings.donate):
        return settings
    known = call.arguments().keys()
    return replace(
        settings,
        static=tuple([name for name in settings.static if name in known]),
        traced=tuple([name for name in settings.traced if name in known]),
        donate=tuple([name for name in settings.donate if name in known]),
    )


def _certain(reads: Reads, args: Sequence[Any], kwargs: dict[str, Any]) -> str:
    """The reason why a call cannot be compiled, as far as it is known before it runs."""
    if reads.outside:
        return f"it uses `{reads.outside}`, which a compiled program cannot do."
    if reads.iterators:
        return f"it reads `{reads.iterators[0][0]}`, an iterator, which tracing would advance."
    leaves = jax.tree_util.tree_leaves((list(args), list(kwargs.values())), is_leaf=_is_leaf)
    if any(isinstance(leaf, Tracer) for leaf in leaves):
        return "it is called while something else is traced."
    return ""


def _is_leaf(value: Any) -> bool:
    return isinstance(value, dict)  # whose keys JAX may be unable to sort


@contextmanager
def _buffered() -> Generator[tuple[io.StringIO, io.StringIO]]:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        yield out, err


def _reason(error: Exception, cell: FunctionCell, subject: CallSubject) -> str:
    """The error of a trial run as the reason for a note."""
    if isinstance(error, RefusedError):
        return str(error).removesuffix(NOTHING_CHANGED).strip()
    traced = () if subject.plain is None else subject.plain.inputs.traced_names()
    errors = CellErrors(cell.text, cell.namespace, cell.settings.composition, traced)
    note = errors.note(error)
    if note is None:
        return f"{error_origin.reason(error)}."
    return note.removeprefix("jaxscope: ").removesuffix(NOTHING_CHANGED).strip()


def _plain_note(name: str, why: str, number: int) -> str:
    times = "" if number == 1 else f" {number} times"
    return f"`{name}` ran as plain Python{times}: {why[:1].lower()}{why[1:]}"


def _too_many(call: FunctionCall) -> str:
    names = [name for name, value in call.arguments().items() if type(value) is int]
    if not names:
        return f"it was compiled {MOST_PROGRAMS} times, for values that are constants in it."
    return (
        f"it was compiled {MOST_PROGRAMS} times, once for each value of a static argument. If "
        f"its shapes do not depend on it, run with `-t {names[0]}`."
    )


def _unclear(found: Sequence[str], syntax: CellSyntax, composition: str) -> TransformError:
    if not found:
        return TransformError(
            f"Line 1: `{composition}` transforms one function, but this cell defines none that JAX "
            "can trace. Define one, or run the whole cell with --block."
        )
    lines = {name: node.lineno for name, node in syntax.definitions.items()}
    names = " and ".join(f"`{name}` (line {lines[name]})" for name in found)
    return TransformError(
        f"Line {lines[found[1]]}: `{composition}` transforms one function, but this cell calls "
        f"{len(found)}: {names}. Choose one with `--only {found[0]}`, or run the whole cell with "
        "--block."
    )


def _shown_name(function: FunctionType) -> str:
    if function.__name__ == "<lambda>":
        return f"lambda of line {function.__code__.co_firstlineno}"
    return function.__name__


def _is_jitted(function: Any) -> bool:
    return hasattr(function, "lower")


def _is_transform(value: Any) -> bool:
    """Whether a library made this callable of another function."""
    wraps = not isinstance(value, FunctionType) or "__wrapped__" in vars(value)
    return wraps and _package(value) in _LIBRARIES


def _package(value: Any) -> str:
    """The package that a function, or the type of an object, comes from."""
    function = isinstance(value, FunctionType)
    module = value.__globals__.get("__name__") if function else type(value).__module__
    return str(module).partition(".")[0]


def _innermost(function: Any) -> FunctionType | None:
    for _ in range(16):
        inner = next(
            (
                found
                for name in ("__wrapped__", "fun", "func")
                if (found := getattr(function, name, None)) is not None and callable(found)
            ),
            None,
        )
        if inner is None:
            break
        function = inner
    return function if isinstance(function, FunctionType) else None


def _token(function: Any) -> Any:
    """A key that is equal for transforms of the same function with the same options."""
    if not isinstance(function, FunctionType) or not function.__closure__:
        return id(function)
    if _package(function) not in _LIBRARIES:
        return id(function)
    cells: list[Any] = [id(function.__code__)]
    for cell in function.__closure__:
        value = cell.cell_contents
        if isinstance(value, FunctionType):
            cells.append(_token(value))
        elif isinstance(value, (bool, int, str, tuple, type(None))):
            cells.append((type(value), value))
        else:
            cells.append(id(value))
    return tuple(cells)
