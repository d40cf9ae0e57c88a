"""One call of a plain function: the line form and `inspect`, by the block form's rule."""

from __future__ import annotations

import ast
import inspect
import linecache
from collections.abc import Mapping, MutableMapping, Sequence
from typing import Any

from jaxscope.capture.inputs.inputs import Inputs, Substituted
from jaxscope.capture.inputs.results import Outcome, OutcomeReader
from jaxscope.capture.options.error_origin import calls_user_code
from jaxscope.capture.options.settings import Settings, SettingsError
from jaxscope.capture.options.stack import JIT, Stack, differentiates, extra_names, is_plain, maps


class PlainCall:
    """One call: the program to trace, and the value that comes back."""

    def __init__(
        self,
        function: Any,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        settings: Settings,
        stack: Stack = JIT,
        namespace: Mapping[str, Any] | None = None,
    ) -> None:
        """`stack` is what the call stands under; its options may name values of `namespace`."""
        self._stack = stack
        self._function = function
        self._names, self._keywords = parameter_names(function, args, kwargs)
        for option, names in (
            ("-s", settings.static),
            ("-t", settings.traced),
            ("-d", settings.donate),
        ):
            for name in names:
                if name not in (*self._names, *self._keywords):
                    known = ", ".join((*self._names, *self._keywords)) or "none"
                    raise SettingsError(
                        f"{option} names `{name}`, which is no argument of this call. "
                        f"Its arguments are: {known}."
                    )
        values = {**dict(zip(self._names, args, strict=True)), **kwargs}
        for name in extra_names(stack):
            if name not in values and namespace is not None and name in namespace:
                values[name] = namespace[name]
        self.inputs = Inputs(values, settings, shapes=True)
        self._outcome: Outcome | None = None
        self.value: Any = None
        """Under a derivative: the value to differentiate, made of tracers."""
        self.value_line: int | None = None

    @calls_user_code
    def program(self, *packed: Any) -> list[Any]:
        """Call the function on tracers; the outputs are the traced leaves of its value."""
        inputs = self.inputs.substitute(packed, aliases=is_plain(self._stack))
        value = self._function(
            *[inputs.values[name] for name in self._names],
            **{name: inputs.values[name] for name in self._keywords},
        )
        if differentiates(self._stack):
            self.value, value = value, None
        self._outcome = self._read(inputs.batched() if maps(self._stack) else inputs, value)
        return self._outcome.traced

    @property
    def outcome(self) -> Outcome:
        """What the call returned. Raises RuntimeError before `program` was traced."""
        if self._outcome is None:
            raise RuntimeError("the call has not been traced yet")
        return self._outcome

    def absent(self, name: str) -> str:
        """What a name is that is no input, after `which`."""
        return "is no input of this call"

    def settle(self, results: Sequence[Any]) -> Any:
        """The call's value; Flax NNX arguments are updated."""
        _, value, settle = self.outcome.settled(results)
        if self.inputs.objects is not None and self.outcome.objects is not None:
            self.inputs.objects.update(self.outcome.objects, settle)
        return value

    def _read(self, inputs: Substituted, value: Any) -> Outcome:
        reader = OutcomeReader(inputs, self.inputs.objects, ast.Module([], type_ignores=[]))
        return reader.read({}, (), value)


def parameter_names(
    function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names for the positional arguments, as the signature has them, and the keyword ones."""
    try:
        bound = inspect.signature(function).bind(*args, **kwargs)
    # A builtin has none, and a wrapper may show that of what it wraps. Where the function does not
    # take these arguments, Python's own error says it better, once it is called.
    except (ValueError, TypeError):
        return tuple([f"arg{i}" for i in range(len(args))]), tuple(kwargs)
    names: list[str] = []
    for parameter in bound.signature.parameters.values():
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            names.extend(f"{parameter.name}_{i}" for i in range(len(args) - len(names)))
        elif parameter.kind in (
            inspect.Parameter.POSITIONAL_ONLY,
            inspect.Parameter.POSITIONAL_OR_KEYWORD,
        ):
            names.append(parameter.name)
    return tuple(names[: len(args)]), tuple(kwargs)


FILE = "<call>"
"""The file name of its text, of which it is line 1."""


def parsed(text: str, magic: str) -> ast.Call:
    """The call. Raises SettingsError for what is no expression, and for what is no call."""
    try:
        tree = ast.parse(text.strip(), FILE, "eval")
    except SyntaxError as error:
        raise SettingsError(f"`{text}` is no Python expression: {error.msg}.") from None
    if not isinstance(tree.body, ast.Call):
        raise SettingsError(f"%{magic} needs a call such as f(x, y), and `{text}` is none.")
    # No file holds it: tracebacks find the text of a line here.
    linecache.cache[FILE] = (len(text), None, [text.strip() + "\n"], FILE)
    return tree.body


def evaluated(
    call: ast.Call, namespace: MutableMapping[str, Any]
) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """The function, positional and keyword arguments, each evaluated once, in order."""
    keywords = ast.Dict(
        [None if k.arg is None else ast.Constant(k.arg) for k in call.keywords],
        [k.value for k in call.keywords],
    )
    whole = ast.Expression(
        ast.Tuple([call.func, ast.Tuple(list(call.args), ast.Load()), keywords], ast.Load())
    )
    code = compile(ast.fix_missing_locations(ast.copy_location(whole, call)), FILE, "eval")
    return eval(code, namespace)  # type: ignore[arg-type]


def called(function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """The call as plain Python, made on its line, so that Python's own errors point there."""
    code = compile("function(*args, **kwargs)", FILE, "eval")
    return eval(code, {"function": function, "args": args, "kwargs": kwargs})


def defines(text: str) -> bool:
    """Whether the call has code of its own that is traced."""
    tree = ast.parse(text.strip(), mode="eval")
    return any(isinstance(node, ast.Lambda) for node in ast.walk(tree))
