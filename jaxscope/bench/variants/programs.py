"""Build the program of a run again, from its own text or from a changed one."""

from __future__ import annotations

import ast
import time
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

import jax

from jaxscope.analysis.python.cell import CellSyntax, CellText
from jaxscope.bench.rounds.watchdog import run_on_thread
from jaxscope.bench.variants import changed_state
from jaxscope.bench.variants.built_program import (
    BuiltProgram,
    bound,
    is_deleted,
    result_shapes,
    without_statics,
)
from jaxscope.bench.variants.isolation import (
    TrialFailed,
    TrialRefused,
    copied_arguments,
    function_behind,
    names_in,
    reached,
    refuse_program_effects,
)
from jaxscope.bench.variants.plain_cell import built_cell
from jaxscope.bench.variants.precision import converted, in_precision
from jaxscope.bench.variants.redefinition import redefined
from jaxscope.capture.compiles.listener import Listener, own_work
from jaxscope.capture.devices import memory
from jaxscope.capture.forms.call import FunctionCall, evaluate_call, is_jitted, parse_call
from jaxscope.capture.options.settings import Settings
from jaxscope.capture.program import describe
from jaxscope.capture.program.compile import Captured, device_and_precision
from jaxscope.capture.program.stages import Handles
from jaxscope.capture.run.context import Invocation, RunContext, RunOrigin, invocation
from jaxscope.capture.run.decorator_form import DecoratedCell
from jaxscope.capture.run.function_form import FunctionCell
from jaxscope.capture.run.program_run import Run, Subject
from jaxscope.capture.run.subjects import CallSubject, CellSubject
from jaxscope.capture.source.frames import CALL_FILE
from jaxscope.capture.timing.copies import copied
from jaxscope.capture.timing.peaks import PeakCache
from jaxscope.model import Cost, Form, Memory, Source
from jaxscope.model.variants import Change, PlanFigures


@dataclass(frozen=True, slots=True)
class Builder:
    """Builds the programs of one run, in an isolated namespace."""

    origin: RunOrigin
    sources: Sequence[Source]
    wanted: str
    """The name of the program."""
    limit_s: float
    afresh: bool = False
    """Functions of other cells are created anew, so that a cell compiles what it did at first."""
    values: tuple[tuple[str, Any], ...] = ()
    """Values that inputs have instead of their own."""

    @property
    def syntax(self) -> ast.AST:
        """The code that runs."""
        text = self.origin.text
        if text is not None:
            return text.syntax.tree
        return ast.parse(self.origin.expression.strip() or "None", mode="eval")

    @property
    def call(self) -> FunctionCall | None:
        """The call of `jaxscope.inspect`. Raises TrialRefused where its inputs are gone."""
        held = self.origin.held
        if held is None:
            return None
        found = held.call()
        if found is None:
            raise TrialRefused(
                f"An input of `{held.name}` is gone since the run: keep it in a variable, and "
                "inspect again."
            )
        return found

    @property
    def space(self) -> MutableMapping[str, Any]:
        """The namespace that the code reads."""
        call = self.call
        function = None if call is None else function_behind(call.function)
        return self.origin.namespace if function is None else function.__globals__

    def names(self) -> tuple[str, ...]:
        """Names that the code reads."""
        text = self.origin.text
        if text is not None:
            return text.syntax.reads
        call = self.call
        if call is not None:
            function = function_behind(call.function)
            return () if function is None else tuple(names_in(function.__code__))
        found = [node.id for node in ast.walk(self.syntax) if isinstance(node, ast.Name)]
        return tuple(dict.fromkeys(found))

    def loop_names(self) -> frozenset[str]:
        """Names that only a `for` of the code binds: a loop variable is not a result."""
        walked = list(ast.walk(self.syntax))
        targets = [node.target for node in walked if isinstance(node, ast.For)]
        inside = {id(n) for target in targets for n in ast.walk(target)}
        stored = [n for n in walked if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
        others = {n.id for n in stored if id(n) not in inside}
        return frozenset([n.id for n in stored if n.id not in others])

    def build(
        self,
        namespace: MutableMapping[str, Any],
        change: Change,
        original: BuiltProgram | None = None,
    ) -> BuiltProgram:
        """The program under a change; `Change("")` changes nothing.

        The original gives the arguments of a changed program that donates them.

        Raises what the code and JAX raise, TrialRefused, and TimedOut.
        """
        origin = self.origin
        settings = origin.settings
        if change.donate:
            donate = tuple(dict.fromkeys([*settings.donate, *change.donate]))
            settings = replace(settings, donate=donate)
        if change.traced:
            settings = replace(settings, traced=(*settings.traced, *change.traced))
        namespace.update(self.values)
        held = self.call and (self.call.args, self.call.kwargs)
        with (
            Listener(keeps_programs=False) as listener,
            own_work(seen_by=listener),
            in_precision(change, namespace, self.names(), held),
        ):
            context = RunContext(namespace, listener, PeakCache())
            text = self._text(change)
            source = None if text is None else text.source
            with (
                self._redefined(namespace, change),
                invocation("trial", origin.form, settings, context, source) as given,
            ):
                if text is None:
                    call = self._call(namespace, change)
                    objects = {"an argument": (call.args, call.kwargs)}
                    earlier = changed_state.snapshot(objects)
                    made = self._one(CallSubject(call, settings, namespace), given, change)
                    return replace(made, state=changed_state.after(earlier, objects))
                if origin.form is Form.PROFILED:
                    raw = given.compiles.raw
                    return built_cell(text, self.names(), namespace, raw, again=self.afresh)
                if origin.form is Form.BLOCK:
                    return self._one(CellSubject(text, settings, namespace), given, change)
                return self._of_functions(text, settings, namespace, given, change, original)

    def _redefined(
        self, namespace: MutableMapping[str, Any], change: Change
    ) -> AbstractContextManager[None]:
        """Functions of other cells, defined again where the program may call a changed one."""
        if self._of_line(change):
            return nullcontext()
        if self.origin.text is None and self.origin.held is None:
            return redefined(namespace, self.sources, change, reached(namespace, self.names()))
        of_cell = self.origin.text is not None
        elsewhere = bool(change.text) and not (of_cell and change.source == 0)
        if not elsewhere and not self.afresh:
            return nullcontext()
        others = self.sources[1:] if of_cell else self.sources
        moved = replace(change, source=change.source - 1) if of_cell else change
        names = reached(namespace, self.names())
        return redefined(namespace, others, moved if elsewhere else Change(""), names)

    def _of_line(self, change: Change) -> bool:
        """Whether the change is in the expression of a line magic."""
        return bool(change.text) and self.sources[change.source].file == CALL_FILE

    def _call(self, namespace: MutableMapping[str, Any], change: Change) -> FunctionCall:
        """The call, of the function as it is defined now, on copies of its arguments."""
        call = self.call
        if call is None:
            text = self.origin.expression
            if self._of_line(change):
                namespace.setdefault("jax", jax)  # the rewrites name it
                text = change.text
            plain = self.origin.settings.composition.is_plain
            asked, _ = parse_call(text, "jaxtry", namespace, plain=plain)
            return evaluate_call(asked, namespace)
        args, kwargs = converted(copied_arguments((tuple(call.args), dict(call.kwargs))), change)
        name = getattr(call.function, "__name__", "")
        function = call.function
        known = namespace.get(name)
        if function_behind(known) is not None and _same_place(known, function):
            function = known
        return FunctionCall(function, args, kwargs)

    def _text(self, change: Change) -> CellText | None:
        text = self.origin.text
        if text is None or not change.text or change.source != 0:
            return text
        lines = change.text.split("\n")
        if lines[0].startswith("%%"):  # it stays empty, so that lines count as in the cell
            lines[0] = ""
        tree = ast.parse(body := "\n".join(lines), filename=text.file)
        body = body.removeprefix("\n") if change.text.startswith("%%") else body
        return replace(text, text=change.text, body=body, syntax=CellSyntax(tree))

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
        original: BuiltProgram | None,
    ) -> BuiltProgram:
        """The cell runs as plain Python; of its programs the one that is wanted is timed."""
        forms = {Form.FUNCTION: FunctionCell, Form.DECORATOR: DecoratedCell}
        cell = forms[given.form](text, settings, namespace)
        before = dict(namespace)
        value = cell.execute(given)
        results = bound(before, namespace, value)
        found: list[tuple[Any, Captured]] = []
        if isinstance(cell, FunctionCell):
            found += [(wrapped, captured) for _, wrapped, captured in cell.calls.compiled]
        for call in cell.jitted.calls:
            run = Run(call, given)
            wrapped = run.read()
            found.append((wrapped, run.compile(run.trace(wrapped))))
        chosen = [one for one in found if one[1].request.name == self.wanted]
        chosen = chosen or (found if len(found) == 1 else [])
        if not chosen and original is None:
            raise TrialRefused("The cell compiles no one program that could be timed.")
        if not chosen:
            raise TrialFailed(f"The changed cell does not compile `{self.wanted}` any more.")
        wrapped, captured = chosen[0]
        refuse_program_effects(captured.handles.traced)
        lowered = captured.handles.lowered
        shapes = None if original is None or change.cast else result_shapes(original.lowered)
        if shapes is not None and shapes != result_shapes(lowered):
            raise TrialRefused(
                f"The changed cell calls `{self.wanted}` for results of other shapes, so one call "
                "cannot be timed against the other."
            )
        args, kwargs = captured.request.args, captured.request.kwargs
        replaced = None
        if is_deleted((args, kwargs)):
            if original is None:
                raise TrialRefused("The cell donates its arguments, so it cannot run twice.")
            replaced = original.args
        return self._built(captured, args, kwargs, change, None, None, {}, results, replaced)

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
        replaced: tuple[Any, ...] | None = None,
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
            raise TrialFailed(why)
        infos = describe.argument_infos(handles)
        donates = any(info.donated for info in infos)
        args, kwargs = captured.arguments(args, kwargs)
        if any(isinstance(x, jax.ShapeDtypeStruct) for x in jax.tree_util.tree_leaves(args)):
            raise TrialRefused("The report is of shapes, without values to run: pass arrays.")
        static = without_statics(captured, args, kwargs)
        args, kwargs = static if static is not None else (args, kwargs)

        def call(*values: Any) -> Any:
            return compiled(*values[:-1], **values[-1])

        # Keywords are the last argument, so that they are copied where they are donated.
        target, args = (call, (*args, kwargs)) if kwargs else (compiled, tuple(args))
        args = args if replaced is None else replaced
        outputs = self._within(
            lambda: jax.block_until_ready(target(*(copied(args) if donates else args))), "one call"
        )
        if results is None:
            assert finalize is not None
            space = self.space
            value = finalize(outputs)
            results = bound(before, space, value)
        loops = self.loop_names()
        kept = [value for name, value in results.items() if name not in loops]
        if not jax.tree_util.tree_leaves(kept):  # a cell that keeps no result
            results = {"": outputs}
        cost = describe.cost(handles)
        counted = isinstance(cost, Cost)
        plan = PlanFigures(
            cost.flops if counted else None,
            cost.bytes_accessed if counted else None,
            needs.peak if isinstance(needs, Memory) else None,
            compile_s,
        )
        name = captured.request.name
        return BuiltProgram(name, target, args, donates, results, plan, handles.lowered)

    def _within(self, work: Callable[[], Any], what: str) -> Any:
        return run_on_thread(work, self.limit_s, f"The trial: {what}")


def _same_place(one: Any, other: Any) -> bool:
    """Whether two functions are of the same definition, which was perhaps run again."""
    mine, theirs = function_behind(one), function_behind(other)
    if mine is None or theirs is None or is_jitted(one) is not is_jitted(other):
        return False
    return mine.__code__.co_filename == theirs.__code__.co_filename
