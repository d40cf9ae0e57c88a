"""One call of whatever can be called: a stage of JAX's, a jitted or a plain function."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MethodType
from typing import Any

import jax

from jaxscope.capture import _jax
from jaxscope.capture.forms.call import PlainCall
from jaxscope.capture.inputs.arguments import paths_of
from jaxscope.capture.options.settings import Settings, SettingsError
from jaxscope.capture.options.stack import PMAP, Stack, differentiates, is_plain
from jaxscope.capture.program.compile import CompileRequest, capture, finished, opened
from jaxscope.capture.run import record, to_python
from jaxscope.capture.run.context import RunContext
from jaxscope.capture.run.measure import Measured, measure
from jaxscope.capture.source.sources import SourceFiles
from jaxscope.capture.timing.transfer import place
from jaxscope.capture.transforms.apply import Work

_STAGES = (jax.stages.Traced, jax.stages.Lowered, jax.stages.Compiled)

Result = tuple[Any, Callable[[], record.Part], tuple[str, ...]]
"""The value of the call, what makes its part of the report, and notes for its first lines."""


class NoFunctionError(SettingsError, TypeError):
    """What was given cannot be called."""


def _unbound(function: Any) -> Any:
    """The jitted function of a method that is bound to an object, else what was given.

    `counter.step.trace` is found on the function, and it knows nothing of `counter`.
    """
    inner = getattr(function, "__func__", None)
    jitted = hasattr(inner, "trace") and hasattr(inner, "lower")
    return inner if isinstance(function, MethodType) and jitted else function


@dataclass(frozen=True, slots=True)
class OneCall:
    """A function and its arguments, with what the run needs."""

    function: Any
    args: Sequence[Any]
    kwargs: Mapping[str, Any]
    settings: Settings
    around: RunContext
    sources: SourceFiles
    device: Any
    """Where the program runs, or None for JAX's default."""

    def run(self, stack: Stack) -> Result:
        """Capture and run the call under the stack; a jitted function keeps its own options.

        Raises NoFunctionError for what cannot be called, and TransformError for what a transform
        cannot do.
        """
        method = _unbound(self.function)
        if method is not self.function:
            args = (self.function.__self__, *self.args)
            return replace(self, function=method, args=args).run(stack)
        if isinstance(self.function, _STAGES):
            if not is_plain(stack):
                raise NoFunctionError(
                    f"A {type(self.function).__name__} is compiled as it is, and no transform can "
                    "be applied to it any more: give the function."
                )
            return self._of_stage()
        if is_plain(stack):
            if hasattr(self.function, "trace") and hasattr(self.function, "lower"):
                return self._of_jitted()
            pmapped = _jax.pmapped_call(self.function, tuple(self.args), dict(self.kwargs))
            if pmapped is not None:
                return self._of_pmapped(pmapped)
        return self._of_plain(stack)

    def alone(self, stack: Stack) -> Any:
        """The value by JAX alone, after jaxscope failed; a call without its transforms would mean
        something else."""
        plain, work, packed, request = self._prepared(stack)
        results, derivative = work.split(request.jitted(*packed))
        settled = plain.settle(results)
        return derivative if differentiates(stack) else settled

    def _of_stage(self) -> Result:
        """Of a `Traced`, `Lowered` or `Compiled` that the user has; only a Traced is tagged."""
        if isinstance(self.function, jax.stages.Traced):
            captured = finished(self.function, self.sources, self.around.say)
        else:
            captured = opened(self.function, self.sources)
        measured = Measured(None)
        if self.args or self.kwargs:
            listener = self.around.listener
            measured = measure(captured, self.args, self.kwargs, self.settings, listener)
        return measured.results, lambda: record.Part(captured, measured), ()

    def _of_jitted(self) -> Result:
        name = getattr(self.function, "__name__", "function")
        request = CompileRequest(name, ("jit",), self.function, tuple(self.args), dict(self.kwargs))
        captured = capture(request, self.sources, None, self.around.say)
        listener = self.around.listener
        measured = measure(captured, self.args, self.kwargs, self.settings, listener)
        python = to_python.of_function(self.function)
        return measured.results, lambda: record.Part(captured, measured, python=python), ()

    def _of_pmapped(self, call: _jax.PmappedCall) -> Result:
        name = getattr(self.function, "__name__", "function")
        paths = paths_of(self.function, tuple(self.args))
        request = CompileRequest(name, ("pmap",), call.jitted, call.args, {}, paths, PMAP)
        captured = capture(request, self.sources, None, self.around.say)
        measured = measure(captured, call.args, {}, self.settings, self.around.listener)
        value = None if measured.results is None else call.restore(measured.results)
        python = to_python.of_function(self.function)
        return value, lambda: record.Part(captured, measured, python=python), ()

    def _of_plain(self, stack: Stack) -> Result:
        if not callable(self.function):
            raise NoFunctionError(
                f"There is nothing to compile: {type(self.function).__name__} is no function."
            )
        plain, work, _, request = self._prepared(stack)
        arguments = work.arguments()
        values, transfer = place([slot.value for slot in arguments.slots], self.device)
        packed = arguments.pack(values)
        request = replace(request, args=packed)
        captured = capture(request, self.sources, self.around.programs, self.around.say)
        measured = measure(captured, packed, {}, self.settings, self.around.listener)
        value = None
        if measured.results is not None:
            results, derivative = work.split(measured.results)
            settled = plain.settle(results)
            value = derivative if differentiates(stack) else settled

        def part() -> record.Part:
            return record.Part(
                captured,
                measured.with_transfer(transfer),
                arguments,
                work.labels(),
                plain.inputs.static_values(),
                to_python.of_function(self.function),
            )

        return value, part, work.notes()

    def _prepared(self, stack: Stack) -> tuple[PlainCall, Work, tuple[Any, ...], CompileRequest]:
        """The call and what JAX would be asked to compile, with the arguments as they are."""
        function = self.function
        plain = PlainCall(
            function, self.args, self.kwargs, self.settings, stack, self.around.namespace
        )
        work = Work(plain, stack, "", "this call", self.device)
        arguments = plain.inputs.arguments
        packed = arguments.pack([slot.value for slot in arguments.slots])
        name = getattr(function, "__name__", type(function).__name__)
        return plain, work, packed, work.request(name, packed, *to_python.place_of(function))
