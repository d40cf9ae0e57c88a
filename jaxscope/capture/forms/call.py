"""One call of a plain function: the line form and `inspect`, by the block form's rule."""

from __future__ import annotations

import ast
import inspect
import linecache
from collections.abc import Callable, Collection, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, replace
from types import FunctionType, MethodType
from typing import Any

import jax

from jaxscope.analysis.python.cell import NO_CODE
from jaxscope.capture.compiles.signature.functions import name_of
from jaxscope.capture.forms.reads import Reads, bound
from jaxscope.capture.forms.trial import TracedForm, Trial
from jaxscope.capture.inputs import nnx, pytrees
from jaxscope.capture.inputs.donation import refused_donation
from jaxscope.capture.inputs.inputs import Inputs, Substituted
from jaxscope.capture.inputs.results import Outcome, OutcomeReader
from jaxscope.capture.inputs.traced_or_static import check_width
from jaxscope.capture.options.error_origin import calls_user_code
from jaxscope.capture.options.settings import Settings, SettingsError, not_an_expression
from jaxscope.capture.source.frames import CALL_FILE

_RESULT = "_jaxscope_result"


def is_jitted(function: Any) -> bool:
    """Whether a function is JAX's own jitted one, and no library's wrapper around one.

    A copied or unpickled one has lost its function: JAX can call it, but not trace it.
    """
    own = type(function).__module__.partition(".")[0] in ("jax", "jaxlib")
    return own and all(hasattr(function, name) for name in ("trace", "lower", "__wrapped__"))


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """A callable and its evaluated arguments."""

    function: Any
    args: Sequence[Any]
    kwargs: Mapping[str, Any]
    mentioned: Collection[str] = ()
    """Names in the text of the call."""
    has_text: bool = False
    """Written on the line of a magic: else its frame has no text for a traceback to show."""

    @property
    def name(self) -> str:
        """Its `__name__`, or the class of an object such as a model, also under `jax.vmap`."""
        if getattr(self.function, "__name__", "") == "__call__" and self.args:
            return type(self.args[0]).__name__
        return name_of(self._users, getattr(self._users, "__name__", ""))

    @property
    def _users(self) -> Any:
        """The function, or the one whose gradient NNX takes, which has the names."""
        made = nnx.gradient(self.function)
        return self.function if made is None else made[1]

    @property
    def is_jitted(self) -> bool:
        """Whether the function is JAX's own, with its own options."""
        return is_jitted(self.function)

    def signature(self) -> inspect.Signature:
        """The parameters that the user's function declares.

        Raises ValueError for a builtin that has no signature.
        """
        return inspect.signature(self._users)

    def parameter_names(self) -> tuple[str, ...]:
        """Names of the positional arguments, from the signature where there is one."""
        args = self.args
        try:
            bound = self.signature().bind(*args, **self.kwargs)
        # A builtin has none, and a wrapper may show that of its function. Where the function does
        # not take these arguments, Python's own error is clearer, once it is called.
        except (ValueError, TypeError):
            return tuple([f"arg{i}" for i in range(len(args))])
        names: list[str] = []
        for parameter in bound.signature.parameters.values():
            if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
                names.extend(f"{parameter.name}_{i}" for i in range(len(args) - len(names)))
            elif parameter.kind in (
                inspect.Parameter.POSITIONAL_ONLY,
                inspect.Parameter.POSITIONAL_OR_KEYWORD,
            ):
                names.append(parameter.name)
        return tuple(names[: len(args)])

    def arguments(self) -> dict[str, Any]:
        """The arguments by name."""
        return {**dict(zip(self.parameter_names(), self.args, strict=True)), **self.kwargs}

    def left_out(self) -> dict[str, Any]:
        """The default values of the parameters that are not given."""
        try:
            given = self.signature().bind(*self.args, **self.kwargs)
        except (ValueError, TypeError):
            return {}
        return {
            name: one.default
            for name, one in given.signature.parameters.items()
            if name not in given.arguments and one.default is not one.empty
        }

    @calls_user_code
    def plain(self) -> Any:
        """Call as plain Python, on the call's own line, where errors and library code then are."""
        code = compile("function(*args, **kwargs)", CALL_FILE, "eval")
        names = {"function": self.function, "args": self.args, "kwargs": self.kwargs}
        return eval(code, {**names, "__tracebackhide__": not self.has_text})


class PlainCall(TracedForm):
    """One call of a plain function."""

    noun = "this call"

    def __init__(
        self, call: FunctionCall, settings: Settings, namespace: MutableMapping[str, Any]
    ) -> None:
        """Tangents and cotangents of a derivative are read from `namespace`."""
        composition = settings.composition
        self._call = call
        self._names = call.parameter_names()
        values = call.arguments()
        settings.check_names(tuple(values), self.absent, "arguments")
        for name in composition.extra_names:
            if name not in values and name in namespace:
                values[name] = namespace[name]
        inputs = Inputs(values, settings, shapes=True, left_out=call.left_out())
        refused = refused_donation(inputs.arguments.donated_arrays(), namespace, call.mentioned)
        if refused is not None:
            raise refused
        # With the user's names for them.
        owner = call.function.__self__ if isinstance(call.function, MethodType) else None
        held = {id(part) for part in (call.function, *bound(call.function))}
        known = [name for name in call.mentioned if name in namespace]
        named = {name: namespace[name] for name in known if id(namespace[name]) in held}
        if owner is not None and not any(value is owner for value in named.values()):
            # A library's object may change too.
            named["self" if id(owner) in held else type(owner).__name__] = owner
        reads = Reads().from_values({**named, call.name: call.function, **values})
        code = getattr(inspect.unwrap(call.function), "__code__", None)
        check_width(inputs.traced(), [code])
        file = CALL_FILE if code is None else code.co_filename
        super().__init__(inputs, Trial(reads, NO_CODE, file), composition, namespace)

    def read_unbound(self) -> None:
        """Nothing: Python has evaluated all names of a call already."""

    @calls_user_code
    def _run(self, inputs: Substituted) -> Outcome:
        scopes = list(self._trial.reads.scopes.values())
        value: Any = None
        with self._running(inputs, scopes):
            args = [inputs.values[name] for name in self._names]
            kwargs = {name: inputs.values[name] for name in self._call.kwargs}
            call = replace(self._call, args=args, kwargs=kwargs)
            value = call.plain() if call.mentioned else call.function(*args, **kwargs)
        if self._composition.differentiates:
            self.value, value = value, None
        if self._composition.maps:
            inputs = inputs.batched()
        return OutcomeReader(inputs, self.inputs.objects, NO_CODE).read({}, (), value)


def parse_call(
    text: str, magic: str, namespace: MutableMapping[str, Any], *, plain: bool
) -> tuple[ast.expr, Callable[[Any], Any]]:
    """The call, or an expression of names, and what takes the part of its result that is asked for.

    Of `step(x)[0]` and `step(x).loss` the call is `step(x)`, where no transform is applied
    (`plain`): compiled with the part, the rest of the call would be left out. Raises SettingsError
    for other text.
    """
    try:
        tree = ast.parse(text.strip(), CALL_FILE, "eval")
    except (SyntaxError, ValueError) as error:
        raise not_an_expression(text, error) from None
    if not isinstance(tree.body, ast.Call) and not _names(tree):
        raise SettingsError(f"%{magic} needs a call such as f(x, y); `{text}` is not a call.")
    # No file holds it: tracebacks find the text of a line here.
    linecache.cache[CALL_FILE] = (len(text), None, [text.strip() + "\n"], CALL_FILE)
    holder, call = None, tree.body
    while plain and isinstance(call, ast.Subscript | ast.Attribute):
        holder, call = call, call.value
    if holder is None or not isinstance(call, ast.Call):
        return tree.body, lambda result: result
    holder.value = ast.copy_location(ast.Name(_RESULT, ast.Load()), call)
    return call, lambda result: _evaluated(tree, call, {**namespace, _RESULT: result})


def evaluate_call(call: ast.expr, namespace: MutableMapping[str, Any]) -> FunctionCall:
    """The function, positional and keyword arguments, each evaluated once, in order.

    A method of an array, such as `jnp.sin(x).sum()`, and `x + 1` become a function of the data that
    the whole expression reads: as a call they would have no input.
    """
    mentioned = _names(call)
    if not isinstance(call, ast.Call):
        return _of_expression(call, namespace, mentioned)
    if _is_method_of_result(call) and _data(mentioned, namespace):
        return _of_expression(call, namespace, mentioned)
    keywords = ast.Dict(
        [None if k.arg is None else ast.Constant(k.arg) for k in call.keywords],
        [k.value for k in call.keywords],
    )
    whole = ast.Expression(
        ast.Tuple([call.func, ast.Tuple(list(call.args), ast.Load()), keywords], ast.Load())
    )
    function, args, kwargs = _evaluated(whole, call, namespace)
    found = FunctionCall(function, args, kwargs, mentioned, has_text=True)
    if isinstance(getattr(found.function, "__self__", None), jax.Array):
        return _of_expression(call, namespace, mentioned)
    return found


def _names(tree: ast.AST) -> set[str]:
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


def _is_method_of_result(call: ast.Call) -> bool:
    """Whether it is a method that arrays have, of what another call or arithmetic returns.

    Evaluated to find out, that call would run twice: at once, and when the expression is traced.
    """
    method = call.func
    return (
        isinstance(method, ast.Attribute)
        and hasattr(jax.Array, method.attr)
        and any(isinstance(n, (ast.Call, ast.BinOp, ast.UnaryOp)) for n in ast.walk(method.value))
    )


def _data(names: Collection[str], namespace: MutableMapping[str, Any]) -> list[str]:
    return [name for name in sorted(names) if name in namespace and _is_data(namespace[name])]


def _of_expression(
    call: ast.expr, namespace: MutableMapping[str, Any], mentioned: Collection[str]
) -> FunctionCall:
    """The expression as a function of its names that hold data, those of models last."""
    names = sorted(_data(mentioned, namespace), key=lambda name: callable(namespace[name]))
    if not names and not isinstance(call, ast.Call):
        why = "is not a call such as f(x, y), and reads no array that is defined"
        raise SettingsError(f"`{ast.unparse(call)}` {why}.")
    made = ast.parse(f"lambda {', '.join(names)}: ()", CALL_FILE, "eval")
    assert isinstance(made.body, ast.Lambda)
    made.body.body = call
    function = _evaluated(made, call, namespace)
    function.__name__ = function.__qualname__ = "expression"
    values = [namespace[name] for name in names]
    return FunctionCall(function, values, {}, mentioned, has_text=True)


def is_model(value: Any) -> bool:
    """Whether it is called by a method in Python, and is a pytree with arrays: `eqx.nn.MLP`."""
    method = inspect.getattr_static(type(value), "__call__", None)
    if not isinstance(method, FunctionType) or hasattr(value, "__wrapped__"):
        return False
    return any(hasattr(leaf, "dtype") for leaf in pytrees.leaves_of(value))


def _is_data(value: Any) -> bool:
    """Whether a value is an argument: a pytree with arrays or numbers, a model too."""
    if callable(value):
        return is_model(value)
    return any(hasattr(leaf, "dtype") for leaf in pytrees.leaves_of(value))


def _evaluated(tree: ast.Expression, call: ast.expr, namespace: MutableMapping[str, Any]) -> Any:
    located = ast.fix_missing_locations(ast.copy_location(tree, call))
    return eval(compile(located, CALL_FILE, "eval"), namespace)  # type: ignore[arg-type]
