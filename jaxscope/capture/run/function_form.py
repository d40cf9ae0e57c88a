"""Function form: a cell runs as plain Python, and the calls of its own functions are compiled.

Each call that the cell's top-level code makes to a function of the cell, or to a transform of one,
goes the way of the line form, `%jaxjit f(x)`. A call that cannot be compiled with the same meaning
runs as plain Python, and a note says why. Every name is bound as plain Python binds it.
"""

from __future__ import annotations

import ast
import io
from collections.abc import Iterator, MutableMapping
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from functools import partial
from types import CodeType, FunctionType, MethodType
from typing import Any

import jax

from jaxscope import words
from jaxscope.analysis.python.cell import CellSyntax, CellText
from jaxscope.analysis.python.marked_calls import all_codes, marked, with_hook
from jaxscope.analysis.python.statements import own_nodes
from jaxscope.capture import _jax
from jaxscope.capture.forms.made_of import LIBRARIES, innermost, package_of, token
from jaxscope.capture.forms.side_effects import SideEffectRecorder
from jaxscope.capture.forms.trial import execute
from jaxscope.capture.inputs import nnx
from jaxscope.capture.options import error_origin
from jaxscope.capture.options.error_origin import calls_user_code
from jaxscope.capture.options.settings import Settings
from jaxscope.capture.program.compile import Captured
from jaxscope.capture.program.request import TracedProgram
from jaxscope.capture.run.callee import MOST_TRACES, Callee, CellCalls
from jaxscope.capture.run.context import FinishedRun, Invocation, WrappedCall
from jaxscope.capture.run.jitted_functions import JittedFunctions, check_only, not_one
from jaxscope.capture.run.program_run import Run
from jaxscope.capture.targets.environment import TargetError
from jaxscope.capture.transforms import table

_NOT_CALLED_ALONE = 0x0020 | 0x0080 | 0x0100 | 0x0200
"""Code flags of generators and coroutines."""

_CONTROL_FLOW = ("associative_scan", "cond", "fori_loop", "map", "scan", "switch", "while_loop")
"""Functions of `jax.lax` that compile the functions they are given."""

_MOST_REASONS = 4


class FunctionCell:
    """One run of a cell in function form."""

    def __init__(
        self, text: CellText, settings: Settings, namespace: MutableMapping[str, Any]
    ) -> None:
        self.text = text
        self.settings = settings
        self.namespace = namespace
        self.recorder = SideEffectRecorder(text.file)
        self.jitted = JittedFunctions(text, settings, namespace)
        self.calls = CellCalls(text, settings, namespace, self.recorder)
        self.rejected: dict[str, str] = {}
        """Reasons of programs that the target's compiler did not make, by function."""

    def execute(self, given: Invocation) -> Any:
        """Run the cell in the user's namespace; the value of its last expression.

        Raises SettingsError for `--only` names that the cell does not define, and TransformError
        for transforms where the function to transform is unclear.
        """
        self.calls.given = given
        callees = _Callees(self, self._chosen())
        with self.recorder, self.jitted.recording(given.context.listener, given.sources):
            return self._executed(callees)

    def execute_alone(self) -> Any:
        """Run the cell under its transforms and collect nothing; the value to show."""
        return self._executed(_Callees(self, self._chosen()))

    def runs(self, given: Invocation) -> Iterator[tuple[Run, FinishedRun]]:
        """The programs of the cell, timed on the arguments of their first call.

        Those that a target's compiler rejects are left out, and `rejected` says why.
        """
        self.rejected.clear()
        for run, name in [(Run(call, given), call.name) for call in self.jitted.calls]:
            try:
                finished = run.finished()
            except TargetError as error:
                self.rejected[name] = str(error)
                continue
            except Exception as error:
                if error_origin.is_ours(error, self.text.file):
                    raise
                continue  # it raised in the cell too, which caught it
            yield run, finished
        for subject, wrapped, captured in self.calls.compiled:
            run = Run(subject, given)
            made = run.run if given.settings.target is None else partial(_for_target, run)
            try:
                with _jax.with_settings(wrapped.jax_settings):
                    finished = made(wrapped, captured)
            except TargetError as error:
                self.rejected[captured.request.name] = str(error)
                continue
            yield run, finished

    def close(self) -> None:
        """Let go of the arguments of its calls, once these were compiled for each target."""
        self.jitted.calls.clear()
        for subject, _, _ in self.calls.compiled:
            if subject.traceable is not None:
                subject.traceable.release()

    def notes(self) -> tuple[str, ...]:
        """Notes about the calls, for the first lines of the report."""
        calls, plain = self.calls.calls, sum(self.calls.plain.values())
        jitted = self.jitted.calls
        own = {call.name for call in jitted if not call.of_library}
        under = {call.name for call in jitted if call.under_transform}
        given = {call.name for call in jitted if call.of_library and not call.under_transform}
        failures = dict.fromkeys(self.calls.failures)
        if not calls and not plain and not jitted:
            return tuple(failures) or (self._idle(),)
        parts = [words.count(calls, "call") + " compiled"] if calls or plain else []
        if plain:
            parts.append(f"{plain} as plain Python")
        if own:
            parts.append(f"{', '.join(sorted(own))} jitted by the cell")
        if given:
            parts.append(f"{', '.join(sorted(given))} with functions of the cell")
        if under:
            parts.append(f"{', '.join(sorted(under))} under a transform")
        first = f"function form: {', '.join(parts)} · --block compiles the whole cell"
        notes = [first]
        if self.settings.target is not None and calls:
            notes.append("The cell itself ran on this machine; only its programs are the target's.")
        reasons = list(self.calls.plain.items())
        for (name, why), number in reasons[:_MOST_REASONS]:
            times = "" if number == 1 else f" {number} times"
            notes.append(f"`{name}` ran as plain Python{times}: {words.continued(why)}")
        if rest := sum(number for _, number in reasons[_MOST_REASONS:]):
            notes.append(
                f"{words.count(rest, 'more call')} ran as plain Python, for other reasons."
            )
        for name, number in self.calls.transformed.items():
            if number > MOST_TRACES:
                notes.append(
                    f"`{name}` was traced in each of {number} calls, because it runs under a "
                    "transform. Run with `--decorate` to trace it once."
                )
        return (*notes, *self.settings.without_effect(self.calls.arguments), *failures)

    def _idle(self) -> str:
        defined = [n for n, d in self.text.syntax.definitions.items() if type(d) is ast.FunctionDef]
        if not defined:
            return (
                "This cell calls no function that it defines, so it ran as plain Python; "
                "`--block` compiles the whole cell."
            )
        if self.calls.python:
            return (
                f"{', '.join(sorted(self.calls.python))} computed nothing with JAX, so there is no "
                "program; `--block` compiles the whole cell."
            )
        called = [name for name in self.text.syntax.called_functions if name in defined]
        bound = {name: getattr(self.namespace.get(name), "__code__", None) for name in called}
        wrapped = [
            n for n, code in bound.items() if getattr(code, "co_filename", "") != self.text.file
        ]
        if wrapped:
            names = [f"`{name}`" for name in wrapped]
            return (
                f"{words.listed(names, 3)} ran as decorated, so jaxscope compiled nothing. "
                "`--block` compiles the whole cell."
            )
        own = list(own_nodes(self.text.syntax.tree.body))
        inside = [n for one in own if isinstance(one, ast.Lambda) for n in ast.walk(one)]
        nodes = [*own, *inside]
        bases = [node.value for node in nodes if isinstance(node, ast.Attribute)]  # as in `f.lower`
        in_calls = [n for one in nodes if isinstance(one, ast.Call) for n in ast.walk(one)]
        named = {n.id for n in in_calls if isinstance(n, ast.Name) and n not in bases}
        if handed := [f"`{name}`" for name in defined if name in named]:
            return (
                f"Only other functions get or call {words.listed(handed, 3)} here, so jaxscope "
                "compiled nothing. `--block` compiles the whole cell; with `@jax.jit` on the "
                "function, its program is reported."
            )
        return (
            "This cell calls no function that it defines, so jaxscope compiled nothing. Call "
            f"`{defined[0]}` here, run `%jaxjit {defined[0]}(...)`, or compile the whole cell with "
            "`--block`."
        )

    @calls_user_code
    def _executed(self, callees: _Callees) -> Any:
        text = self.text
        statements, expression = replace(text, syntax=CellSyntax(marked(text.syntax.tree))).code()
        statements = callees.hooked(statements)
        expression = None if expression is None else callees.hooked(expression)
        try:
            value = execute((statements, expression), self.namespace)
        finally:
            callees.close()
        return None if text.silenced else value

    def _chosen(self) -> tuple[str, ...] | None:
        """The functions to compile; None for all of the cell."""
        check_only(self.text, self.settings)
        only, composition = self.settings.only, self.settings.composition
        needed = table.entry_points_needed(composition)
        if needed is None:
            return only or None
        found = only or self.text.syntax.called_functions or self.text.syntax.entry_points
        if len(found) != needed:
            raise not_one(found, self.text, composition, "transforms", f"calls {len(found)}")
        return found


def _for_target(run: Run, wrapped: WrappedCall, captured: Captured) -> FinishedRun:
    """A call that has run, as a program of the run's target; traced again where it has a mesh."""
    if run.sharded:
        wrapped = run.read()
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            traced = run.trace(wrapped)
    else:
        known = captured.handles.traced
        traced = TracedProgram(captured.request, known, captured.trace_s, captured.vmaps)
    return run.run(wrapped, run.compile(traced))


class _Callees:
    """The hook of a cell: chooses the calls that are compiled."""

    def __init__(self, cell: FunctionCell, chosen: tuple[str, ...] | None) -> None:
        self.cell = cell
        self._chosen = chosen
        self._codes: dict[int, CodeType] = {}
        self._known: dict[Any, Callee] = {}
        self._open = True

    def hooked(self, code: CodeType) -> CodeType:
        """Code of the cell with this hook; its functions are the cell's."""
        made = with_hook(code, self)
        self._codes.update({id(one): one for one in all_codes(made)})
        return made

    def close(self) -> None:
        """Leave later calls alone: those of a generator that outlives the cell.

        JAX's tracebacks keep the code, and so the hook: it lets go of the cell and its arrays.
        """
        self._open = False
        self._known.clear()
        del self.cell

    def pick(self, function: Any) -> Any:
        """The function itself, or a callee that compiles its calls."""
        known = self._known.get(id(function))
        if known is not None and known.function is function:
            return known
        if not self._open:
            return function
        try:
            if type(function) is FunctionType and id(function.__code__) in self._codes:
                return self._callee(function, function) or function
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
        if cached := nnx.cached_function(function):
            self.pick(cached)  # a jitted function is recorded
            return function
        wraps = not isinstance(function, FunctionType) or "__wrapped__" in vars(function)
        wraps = wraps or nnx.gradient(function) is not None
        plain = self.cell.settings.composition.is_plain
        # A transform is applied to any decorated function; a jit of an unknown one may differ.
        decorated = not plain and "__wrapped__" in getattr(function, "__dict__", ())
        if wraps and (package_of(function) in LIBRARIES or decorated):
            inner = innermost(function)
            if inner is None:
                return function
            if id(inner.__code__) not in self._codes:
                if plain and hasattr(function, "lower") and self._is_bound(function):
                    self.cell.jitted.add(inner.__name__, function, outside=True)
                return self._control_flow(function, inner)
            if hasattr(function, "lower") and plain:
                self.cell.jitted.add(inner.__name__, function)
                return function
            return self._callee(function, inner) or function
        return self._bound(vars(kind).get("__call__"), function, function)

    def _is_bound(self, function: Any) -> bool:
        """Whether the cell itself has bound a name to the function."""
        bound = self.cell.text.syntax.bound
        return any(self.cell.namespace.get(name) is function for name in bound)

    def _control_flow(self, function: Any, inner: FunctionType) -> Any:
        """A control-flow function of JAX as a callee where it is given functions of the cell.

        JAX keeps what it traced of them: a call that is not compiled gets copies, so that their
        effects happen.
        """
        plain = self.cell.settings.composition.is_plain and self._chosen is None
        if not plain or not any(function is getattr(jax.lax, one, None) for one in _CONTROL_FLOW):
            return function
        compiled = self._callee(function, inner)
        if compiled is None:
            return function
        compiled.plain = lambda *args, **kwargs: function(
            *map(_copied, args), **{name: _copied(value) for name, value in kwargs.items()}
        )

        def called(*args: Any, **kwargs: Any) -> Any:
            passed = [*args, *kwargs.values()]
            given = [one for each in passed for one in (each if type(each) is list else [each])]
            own = [type(one) is FunctionType and id(one.__code__) in self._codes for one in given]
            return (compiled if any(own) else function)(*args, **kwargs)

        return called

    def _bound(self, method: Any, original: Any, owner: Any) -> Any:
        """A method of the cell as a callee that gets its object as the first argument."""
        if hasattr(method, "lower"):
            self._pick_other(method)  # a jitted method is recorded
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
        key = token(function)
        if key not in self._known:
            self._known[key] = Callee(self.cell.calls, function, inner)
        return self._known[key]


def _copied(value: Any) -> Any:
    """A new function object of the same code, for a function or a list of them."""
    if type(value) is list:
        return [_copied(one) for one in value]
    if type(value) is not FunctionType:
        return value
    made = FunctionType(
        value.__code__, value.__globals__, value.__name__, value.__defaults__, value.__closure__
    )
    made.__kwdefaults__ = value.__kwdefaults__
    return made
