"""What a jitted function was called with, one short text an argument."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

from jaxscope.capture.memory import size_text

_KINDS = {"float": "f", "bfloat": "bf", "int": "i", "uint": "u", "complex": "c"}


def describe_call(
    fun: Any,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    static_argnums: Sequence[int] = (),
    static_argnames: Sequence[str] = (),
) -> tuple[str, ...]:
    """`('x: f32[4,8]', 'n=3', 'params: 12 leaves, 3.1 kB')`: names as the function declares them.

    Keeps no argument alive, reads no array's contents.
    """
    names = argument_names(fun, len(args))
    static = {n if n >= 0 else len(args) + n for n in static_argnums}
    texts: list[str] = []
    for i, (name, value) in enumerate(zip(names, args, strict=True)):
        texts.append(_argument(name, value, i in static or name in static_argnames))
    texts += [_argument(name, kwargs[name], name in static_argnames) for name in sorted(kwargs)]
    return tuple(texts)


def argument_names(fun: Any, count: int) -> list[str]:
    """Names of `count` positional arguments; `args[1]` for a starred one, `arg0` when unknown."""
    names: list[str] = []
    try:
        parameters = list(inspect.signature(fun).parameters.values()) if callable(fun) else []
    except (TypeError, ValueError):
        parameters = []
    for parameter in parameters:
        if parameter.kind is parameter.VAR_POSITIONAL:
            names += [f"{parameter.name}[{i}]" for i in range(count - len(names))]
        elif parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            names.append(parameter.name)
    names = names[:count]
    return names + [f"arg{i}" for i in range(len(names), count)]


def _argument(name: str, value: Any, static: bool) -> str:
    if static:
        return f"{name}={_short_repr(value)}"
    return f"{name}: {describe(value)}"


def describe(value: Any) -> str:
    """`f32[4,8]`, `float` for a Python scalar, `3 leaves, 48 B` for a container."""
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return short_aval(value.dtype, value.shape)
    for scalar in (bool, int, float, complex):
        if isinstance(value, scalar):  # jax 0.9 and later has subclasses of these
            return scalar.__name__
    if value is None:
        return "None"
    import jax

    leaves = jax.tree_util.tree_leaves(value)
    if len(leaves) == 1 and leaves[0] is value:
        return type(value).__name__
    size = sum(int(getattr(leaf, "nbytes", 0) or 0) for leaf in leaves)
    return f"{len(leaves)} {'leaf' if len(leaves) == 1 else 'leaves'}, {size_text(size)}"


def short_aval(dtype: Any, shape: Sequence[int]) -> str:
    """`f32[4,8]` from a dtype and a shape."""
    name = str(dtype)
    stem = name.rstrip("0123456789")
    digits = name[len(stem) :]
    return f"{_KINDS[stem]}{digits}{_dims(shape)}" if stem in _KINDS else f"{name}{_dims(shape)}"


def _dims(shape: Sequence[int]) -> str:
    return f"[{','.join(map(str, shape))}]"


def _short_repr(value: Any, limit: int = 60) -> str:
    try:
        text = repr(value)
    except Exception:  # the user's own __repr__
        text = object.__repr__(value)
    return text if len(text) <= limit else text[: limit - 1] + "…"
