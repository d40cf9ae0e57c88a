"""Calls of `nnx.jit` and `equinox.filter_jit` functions: the jitted function inside, and its call.

Such a wrapper turns its arguments into a pytree of arrays, calls a function of JAX's with it, and
turns the results back. Jitted as a whole, it would be another program than the one that runs.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import FunctionType
from typing import Any

from jaxscope.capture import _jax
from jaxscope.capture.compiles.signature.wrapped_calls import user_names
from jaxscope.capture.forms.call import FunctionCall, is_jitted
from jaxscope.capture.forms.made_of import package_of
from jaxscope.capture.inputs.arguments import holds_tracer
from jaxscope.capture.options.error_origin import calls_user_code
from jaxscope.model import CompileKind

_LIBRARIES = ("flax", "equinox")


def held_jit(wrapper: Any) -> tuple[str, Any] | None:
    """The attribute of a library's wrapper that holds its one jitted function, and that function.

    None for JAX's own jitted functions, for transforms of one, and for all other objects.
    """
    if isinstance(wrapper, type | FunctionType) or package_of(wrapper) not in _LIBRARIES:
        return None
    users = getattr(wrapper, "__wrapped__", None)
    held = [
        (name, value)
        for name, value in _attributes(wrapper).items()
        if is_jitted(value) and value is not users
    ]
    return held[0] if len(held) == 1 else None


@dataclass(frozen=True, slots=True)
class LibraryCall:
    """One call of a wrapper as the call of its jitted function."""

    call: FunctionCall
    attribute: str
    jitted: Any
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    """The arguments that the wrapper passes to the jitted function."""
    names: tuple[str, ...]
    """The user's names of the arrays; empty where they are unknown."""

    def trace(self) -> Any:
        """JAX's `Traced`, made where the wrapper calls: NNX keeps facts of the call outside of it.

        Raises what the user's code raises.
        """
        return _answered(self.call, self.attribute, self.jitted.trace)

    def finalize(self, results: Any) -> Any:
        """The value of the wrapper's call, from the results of the jitted function.

        Updates the NNX objects among the arguments.
        """
        with _replaced(self.call.function, self.attribute, lambda *args, **kwargs: results):
            return self.call.plain()


def library_call(call: FunctionCall) -> LibraryCall | None:
    """The call of the jitted function inside; None for a call of anything else.

    None too where the wrapper refuses its arguments: called as a function, it says why.
    """
    try:
        found = held_jit(call.function)
        if found is None or holds_tracer((tuple(call.args), dict(call.kwargs))):
            return None
        name, jitted = found
        args, kwargs = _answered(call, name, lambda *args, **kwargs: (args, kwargs))
        fun, declared = getattr(jitted, "__wrapped__", None), call.signature()
        inner = _jax.JaxCall(CompileKind.JIT, fun, "", args, kwargs, declared=declared)
        traced = _jax.traced_arguments(jitted, args, kwargs)
        return LibraryCall(call, name, jitted, args, kwargs, user_names(inner, traced))
    except Exception:
        return None


class _Answer(Exception):
    """Leaves a wrapper before it goes on with the results of its jitted function."""

    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value


def _answered(call: FunctionCall, attribute: str, answer: Callable[..., Any]) -> Any:
    """The result of `answer` for the arguments that the wrapper passes to its jitted function."""

    @calls_user_code
    def leave(*args: Any, **kwargs: Any) -> Any:
        raise _Answer(answer(*args, **kwargs))

    with _replaced(call.function, attribute, leave):
        try:
            call.plain() if call.mentioned else call.function(*call.args, **call.kwargs)
        except _Answer as found:
            return found.value
    raise TypeError(f"{type(call.function).__name__} did not call its jitted function")


@contextmanager
def _replaced(wrapper: Any, attribute: str, function: Callable[..., Any]) -> Generator[None]:
    """Let the wrapper call `function` on this thread, and its jitted function on others."""
    held, thread = _attributes(wrapper), threading.get_ident()
    jitted = held[attribute]

    @calls_user_code
    def called(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        ours = threading.get_ident() == thread
        return (function if ours else jitted)(*args, **kwargs)

    try:
        held[attribute] = called
        yield
    finally:
        held[attribute] = jitted


def _attributes(value: Any) -> dict[str, Any]:
    return getattr(value, "__dict__", {})
