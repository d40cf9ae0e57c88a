"""Equations of a jaxpr, their tags, and its text.

Equations are `JaxprEqn` with a `source_info` of (traceback, name_stack); seen on jax 0.8.1, 0.10.2
and 0.12.0.1.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import types
from collections.abc import Callable, Iterator
from typing import Any

from jaxscope.capture._jax.options import spec_entries


def name_scopes(equation: Any) -> tuple[tuple[str, str], ...]:
    """The name stack of an equation, relative to its jaxpr: `(kind, name)`, outermost first.

    Kind is `Scope` or `Transform`, the class names in source_info_util. Empty when it is gone.
    """
    name_stack = getattr(getattr(equation, "source_info", None), "name_stack", None)
    stack = getattr(name_stack, "stack", ())
    return tuple([(type(entry).__name__, entry.name) for entry in stack]) if stack else ()


def push_scope(equation: Any, name: str) -> None:
    """Put a scope at the inner end of an equation's name stack, in place.

    A new SourceInfo, because several equations may share one. Raises AttributeError or TypeError
    when these objects have changed; the caller then leaves the program untagged.
    """
    info = equation.source_info
    equation.source_info = info.replace(name_stack=info.name_stack.extend(name))


def given_name(equation: Any) -> str:
    """The name that `checkpoint_name` gave a value, or that of the function under an inner `jit`.

    Parameter `name`; with JAX's newer primitives, since 0.10, the `name` of parameter `_prim`.
    Empty when there is none.
    """
    params = equation.params
    return str(params.get("name") or getattr(params.get("_prim"), "name", "") or "")


def printed_name(equation: Any) -> str:
    """The name of an equation's primitive, as in the text of a jaxpr.

    JAX's newer primitives, since 0.10, share one: theirs is the class of parameter `_prim`.
    """
    newer = equation.params.get("_prim")
    return equation.primitive.name if newer is None else type(newer).__name__


def placements(jaxpr: Any) -> Iterator[tuple[Any, Any, bool]]:
    """Each `device_put` of a jaxpr, not of those inside it: the equation, a device or sharding, and
    whether the type of the result is sharded, as along the explicit axes of a mesh.

    Parameter `devices`, with None where nothing was named. Nothing without it.
    """
    for equation in getattr(getattr(jaxpr, "jaxpr", jaxpr), "eqns", ()):
        if equation.primitive.name == "device_put":
            places = equation.params.get("devices", ())
            for place, out in zip(places, equation.outvars, strict=False):
                spec = getattr(getattr(out.aval, "sharding", None), "spec", ())
                if place is not None:
                    yield equation, place, any(spec_entries(spec))


def short_aval(aval: Any) -> str:
    """`f32[4,8]`. `str_short` of abstract values; their repr when it is gone."""
    try:
        return aval.str_short(short_dtypes=True)
    except (AttributeError, TypeError):
        return str(aval)


class FrameMark:
    """A placeholder for the traceback of a copied equation, found again in the printed text."""

    def __init__(self, number: int) -> None:
        self.number = number
        # jax 0.8 looks for a user's frame in the traceback and returns that frame.
        self._code = (lambda: 0).__code__.replace(co_filename=f"mark {number}")

    def raw_frames(self) -> tuple[list[types.CodeType], list[int]]:
        return [self._code], [0]


def print_jaxpr(jaxpr: Any) -> tuple[str, list[list[int]]]:
    """The text of a jaxpr whose equations carry `FrameMark`s, and the marks' numbers on each line.

    `Jaxpr.pretty_print(source_map=...)`. Raises when the printer has changed.
    """
    source_map: list[list[tuple[int, int, Any]]] = []
    text = jaxpr.pretty_print(source_map=source_map, use_color=False)
    lines: list[list[int]] = []
    for entries in source_map:
        numbers = [
            s.number if isinstance(s, FrameMark) else int(s.file_name.removeprefix("mark "))
            for *_, s in entries
        ]
        lines.append(list(dict.fromkeys(numbers)))
    return text, lines


def with_mark(equation: Any, mark: FrameMark, params: dict[str, Any]) -> Any:
    """A copy of an equation with other parameters, and a mark where its traceback was."""
    info = equation.source_info
    return equation.replace(params=params, source_info=info.replace(traceback=mark))


def as_function(closed: Any) -> Callable[..., list[Any]]:
    """A closed jaxpr as a function of its leaves.

    `core.jaxpr_as_fun`, seen on jax 0.8.1, 0.10.2 and 0.12.0.1: on jax 0.12 the import of
    `jax.extend`, which has it too, adds two settings to the key of every trace, and JAX traces the
    user's functions again. Raises AttributeError when it is gone.
    """
    from jax._src import core

    return core.jaxpr_as_fun(closed)


def replay(equation: Any, inputs: list[Any], params: dict[str, Any], dropped: Any) -> list[Any]:
    """Apply an equation's primitive to new inputs, under its own traceback and name stack.

    `dropped(name)` says which scopes of the stack to leave out. Names in `source_info_util`, seen
    on jax 0.8.1, 0.10.2, 0.12.0.1. Raises what JAX raises, and AttributeError or ImportError when
    they are gone: the caller then cannot isolate lines.
    """
    from jax._src import source_info_util

    info = equation.source_info
    scopes = tuple(scope for scope in info.name_stack.stack if not dropped(scope.name))
    stack = source_info_util.current_name_stack() + source_info_util.NameStack(scopes)
    primitive = equation.primitive
    bound = primitive.get_bind_params(params)
    functions, bound = bound if isinstance(bound, tuple) else ((), bound)
    with source_info_util.user_context(info.traceback, name_stack=stack):
        found = primitive.bind(*functions, *inputs, **bound)
    return list(found) if primitive.multiple_results else [found]
