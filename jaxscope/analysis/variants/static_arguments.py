"""Static arguments of a text's `jax.jit`, traced instead."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from jaxscope.analysis.variants.edits import Edit, edited, function_name, parsed, source_of

_STATIC = ("static_argnames", "static_argnums")


def without_static(text: str, function: str, names: Sequence[str]) -> str:
    """The text in which these arguments of the function's `jax.jit` are not static any more."""
    try:
        tree = parsed(text)
    except SyntaxError:
        return ""
    definition = next(
        (n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.name == function), None
    )
    for call in _jits(tree, function, definition):
        keywords = [one for one in call.keywords if one.arg in _STATIC]
        kept = {id(one): _kept(one, names, definition) for one in keywords}
        if not keywords or all(kept[id(one)] is None for one in keywords):
            continue
        listed = [source_of(text, one) for one in call.args]
        for one in call.keywords:
            values = kept.get(id(one))
            if id(one) not in kept or values is None:
                listed.append(source_of(text, one))
            elif values:
                listed.append(f"{one.arg}=({', '.join(map(repr, values))},)")
        called = source_of(text, call.func)
        made = f"{called}({', '.join(listed)})"
        in_decorator = definition is not None and call in definition.decorator_list
        if in_decorator and len(listed) == 1 and called.endswith("partial"):
            made = listed[0]
        elif in_decorator and not listed:
            made = called
        return edited(text, [Edit(call, made)])
    return ""


def _jits(
    tree: ast.Module, function: str, definition: ast.FunctionDef | None
) -> Iterator[ast.Call]:
    """The calls of `jax.jit` that may compile the function."""
    if definition is not None:
        for node in definition.decorator_list:
            if isinstance(node, ast.Call):
                yield node
    for node in ast.walk(tree):
        match node:
            case ast.Call(args=[ast.Name(id=name), *_]) if (
                name == function and function_name(node) == "jit"
            ):
                yield node
            case ast.Call(args=[ast.Lambda(), *_]) if (
                function == "<lambda>" and function_name(node) == "jit"
            ):
                yield node
            case _:
                pass


def _kept(
    keyword: ast.keyword, names: Sequence[str], definition: ast.FunctionDef | None
) -> list[str | int] | None:
    """The arguments that stay static; None where the keyword does not name one of `names`."""
    try:
        value = ast.literal_eval(keyword.value)
    except ValueError:
        return None
    given: list[str | int] = list(value) if isinstance(value, tuple | list | set) else [value]
    parameters = [] if definition is None else [one.arg for one in definition.args.args]
    dropped: list[str | int] = list(names)
    dropped += [i for i, one in enumerate(parameters) if one in names]
    kept = [one for one in given if one not in dropped]
    return kept if len(kept) < len(given) else None
