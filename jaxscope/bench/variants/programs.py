"""Build the program of a run again, from its own text or from a changed one."""

from __future__ import annotations

import ast
import time
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, replace
from types import FunctionType
from typing import Any, cast

import jax

from jaxscope.analysis.python.cell import CellSyntax, CellText
from jaxscope.analysis.variants.edits import parsed
from jaxscope.bench.rounds.watchdog import run_on_thread
from jaxscope.bench.variants.isolation import TrialRefused, refuse_program_effects
from jaxscope.capture.compiles.listener import Listener, own_work
from jaxscope.capture.devices import memory
from jaxscope.capture.forms.call import evaluate_call, parse_call
from jaxscope.capture.inputs.arguments import holds_tracer
from jaxscope.capture.options.settings import Settings
from jaxscope.capture.program import describe
from jaxscope.capture.program.compile import Captured, device_and_precision
from jaxscope.capture.program.stages import Handles
from jaxscope.capture.run.context import Invocation, RunContext, RunOrigin, invocation
from jaxscope.capture.run.decorator_form import DecoratedCell
from jaxscope.capture.run.function_form import FunctionCell
from jaxscope.capture.run.program_run import Run, Subject
from jaxscope.capture.run.subjects import CallSubject, CellSubject
from jaxscope.capture.timing.copies import copied
from jaxscope.capture.timing.peaks import PeakCache
from jaxscope.model import Cost, Form, Memory, Source, SourceKind
from jaxscope.model.variants import Change, PlanFigures


@dataclass(frozen=True, slots=True)
class BuiltProgram:
    """A compiled program with its arguments and its results."""

    name: str
    call: Callable[..., Any]
    """The compiled program, of flat positional arguments and keywords bound already."""
    args: tuple[Any, ...]
    donates: bool
    results: Mapping[str, Any]
    """Values by name, as the code binds them; the value of the last expression as ``."""
    plan: PlanFigures

    def fresh(self) -> tuple[Any, ...]:
        """Arguments for one more call."""
        return copied(self.args)


@dataclass(frozen=True, slots=True)
class Builder:
    """Builds the programs of one run, in an isolated namespace."""

    origin: RunOrigin
    sources: Sequence[Source]
    wanted: str
    """The name of the program."""
    limit_s: float

    @property
    def syntax(self) -> ast.AST:
        """The code that runs."""
        text = self.origin.text
        if text is not None:
            return text.syntax.tree
        return ast.parse(self.origin.expression.strip(), mode="eval")

    def names(self) -> tuple[str, ...]:
        """Names that the code reads."""
        text = self.origin.text
        if text is not None:
            return text.syntax.reads
        found = [node.id for node in ast.walk(self.syntax) if isinstance(node, ast.Name)]
        return tuple(dict.fromkeys(found))

    def build(self, namespace: MutableMapping[str, Any], change: Change) -> BuiltProgram:
        """The program under a change; `Change("")` changes nothing.

        Raises what the code and JAX raise, TrialRefused, and TimedOut.
        """
        origin = self.origin
        settings = origin.settings
        if change.donate:
            donate = tuple(dict.fromkeys([*settings.donate, *change.donate]))
            settings = replace(settings, donate=donate)
        with Listener() as listener, own_work(seen_by=listener):
            context = RunContext(namespace, listener, PeakCache())
            text = self._text(change)
            source = None if text is None else text.source
            with invocation("trial", origin.form, settings, context, source) as given:
                if origin.form is Form.BLOCK:
                    assert text is not None
                    return self._one(CellSubject(text, settings, namespace), given, change)
                if text is None:
                    self._define(namespace, change)
                    call = evaluate_call(parse_call(origin.expression, "jaxtry"), namespace)
                    return self._one(CallSubject(call, settings, namespace), given, change)
                return self._of_functions(text, settings, namespace, given, change)

    def _text(self, change: Change) -> CellText | None:
        text = self.origin.text
        if text is None or not change.text:
            return text
        if change.source != 0:
            raise TrialRefused("The line is in an earlier cell: %jaxjit its call to try the fix.")
        lines = change.text.split("\n")
        # The `%%` line stays empty, so that lines count as in the cell.
        tree = ast.parse("\n".join(["", *lines[1:]]), filename=text.file)
        return replace(text, text=change.text, body="\n".join(lines[1:]), syntax=CellSyntax(tree))

    def _define(self, namespace: MutableMapping[str, Any], change: Change) -> None:
        """Define the user's functions of a call again, one of them changed."""
        for number, source in enumerate(self.sources):
            changed = bool(change.text) and number == change.source
            if source.kind is SourceKind.MODULE:
                if changed:
                    raise TrialRefused(f"The line is in `{source.name}`, a file: not tried.")
                continue
            tree = parsed(change.text if changed else source.text)
            for node in tree.body:
                if not isinstance(node, ast.FunctionDef):
                    continue
                known = namespace.get(node.name)
                inner = getattr(known, "__wrapped__", known)
                if not isinstance(inner, FunctionType):
                    continue
                if inner.__code__.co_filename != source.file:
                    raise TrialRefused(
                        f"`{node.name}` was defined again since the run: run the call again."
                    )
                module = ast.Module([node], type_ignores=[])
                exec(compile(module, source.file, "exec"), cast("dict[str, Any]", namespace))

    def _one(self, subject: Subject, given: Invocation, change: Change) -> BuiltProgram:
        run = Run(subject, given)
        wrapped = subject.read(given.device)
        placed = wrapped.placed(given.device)
        traced = run.trace(placed)
        refuse_program_effects(traced.traced)
        began = time.perf_counter()

        def compiled() -> Captured:
            with device_and_precision(given.settings):
                return run.compile(traced)

        with run.undoing():
            captured = self._within(compiled, "compiling")
            chosen = placed if change.on_device else wrapped
            args, kwargs = chosen.request.args, chosen.request.kwargs
            space = dict(given.context.namespace)
            return self._built(
                captured, args, kwargs, change, time.perf_counter() - began, placed.finalize, space
            )

    def _of_functions(
        self,
        text: CellText,
        settings: Settings,
        namespace: MutableMapping[str, Any],
        given: Invocation,
        change: Change,
    ) -> BuiltProgram:
        """The cell runs as plain Python; of its programs the one that is wanted is timed."""
        forms = {Form.FUNCTION: FunctionCell, Form.DECORATOR: DecoratedCell}
        cell = forms[given.form](text, settings, namespace)
        before = dict(namespace)
        value = cell.execute(given)
        results = _bound(before, namespace, value)
        found: list[tuple[Any, Captured]] = []
        if isinstance(cell, FunctionCell):
            found += [(wrapped, captured) for _, wrapped, captured in cell.calls.compiled]
        for call in cell.jitted.calls:
            run = Run(call, given)
            wrapped = run.read()
            found.append((wrapped, run.compile(run.trace(wrapped))))
        chosen = [one for one in found if one[1].request.name == self.wanted]
        chosen = chosen or (found if len(found) == 1 else [])
        if not chosen:
            raise TrialRefused(f"The changed cell does not compile `{self.wanted}` any more.")
        wrapped, captured = chosen[0]
        refuse_program_effects(captured.handles.traced)
        request = captured.request
        return self._built(captured, request.args, request.kwargs, change, None, None, {}, results)

    def _built(
        self,
        captured: Captured,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        change: Change,
        compile_s: float | None,
        finalize: Callable[[Any], Any] | None,
        before: Mapping[str, Any],
        results: Mapping[str, Any] | None = None,
    ) -> BuiltProgram:
        handles = captured.handles
        if change.options:
            began, lowered = time.perf_counter(), handles.lowered
            made = self._within(
                lambda: lowered.compile(compiler_options=dict(change.options)), "compiling"
            )
            compile_s = time.perf_counter() - began
            handles = Handles(handles.traced, lowered, made, handles.tagged)
        compiled = handles.compiled
        needs = memory.memory(compiled)
        devices = describe.device_objects(handles)
        if isinstance(needs, Memory) and devices and (why := memory.fits(needs, devices[0])):
            raise TrialRefused(why)
        infos = describe.argument_infos(handles)
        donates = any(info.donated for info in infos)
        args, kwargs = captured.arguments(args, kwargs)
        static = _without_statics(captured, args, kwargs)
        args, kwargs = static if static is not None else (args, kwargs)

        def call(*values: Any) -> Any:
            return compiled(*values, **kwargs)

        target = compiled if not kwargs else call
        outputs = self._within(
            lambda: jax.block_until_ready(target(*(copied(args) if donates else args))), "one call"
        )
        if results is None:
            assert finalize is not None
            space = self.origin.namespace
            value = finalize(outputs)
            results = _bound(before, space, value)
        cost = describe.cost(handles)
        counted = isinstance(cost, Cost)
        plan = PlanFigures(
            cost.flops if counted else None,
            cost.bytes_accessed if counted else None,
            needs.peak if isinstance(needs, Memory) else None,
            compile_s,
        )
        return BuiltProgram(captured.request.name, target, tuple(args), donates, results, plan)

    def _within(self, work: Callable[[], Any], what: str) -> Any:
        return run_on_thread(work, self.limit_s, f"The trial: {what}")


def _without_statics(
    captured: Captured, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """The arguments without those that the jitted function holds as constants."""
    from jaxscope.capture.inputs.traced_or_static import choose

    infos = getattr(captured.handles.traced, "args_info", None)
    if infos is None or not isinstance(infos, tuple) or len(infos) != 2:
        return None
    if len(infos[0]) == len(args):
        return None
    kept = [a for a in args if all(choose(leaf).traced for leaf in jax.tree_util.tree_leaves(a))]
    known = {k: v for k, v in kwargs.items() if k in infos[1]}
    return (tuple(kept), known) if len(kept) == len(infos[0]) else None


def _bound(before: Mapping[str, Any], after: Mapping[str, Any], value: Any) -> dict[str, Any]:
    """The data that the code bound, and its value."""
    found = {
        name: one
        for name, one in after.items()
        if not name.startswith("_")
        and before.get(name) is not one
        and not callable(one)
        and not holds_tracer(one)
    }
    return {**found, "": value}
