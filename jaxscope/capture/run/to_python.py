"""Where a function's text stands, and the module text that `Report.to_python` gives."""

from __future__ import annotations

import ast
import functools
import inspect
import linecache
import textwrap
from collections.abc import Callable, Mapping
from types import FunctionType, MethodType, ModuleType
from typing import Any

import jax
import numpy as np

from jaxscope.analysis.python import module_text
from jaxscope.capture.forms.block import Block, CellText
from jaxscope.capture.options.stack import GradOptions, differentiates, is_plain
from jaxscope.capture.source.sources import SourceFiles, as_typed
from jaxscope.capture.transforms.apply import Work
from jaxscope.capture.transforms.to_source import spelled
from jaxscope.model import Source, SourceKind


def source_of(function: Any, cell_name: Callable[[str], str | None]) -> Source | None:
    """The file or the cell that defines a function; None for a library and without a text."""
    file, _ = place_of(function)
    text = "".join(linecache.getlines(file))
    name = cell_name(file)
    if not text or (name is None and SourceFiles().index(file) is None):
        return None
    kind = SourceKind.MODULE if name is None else SourceKind.OTHER_CELL
    if name is None:
        return Source(file.rpartition("/")[2], file, kind, text)
    return Source(name, file, kind, as_typed(text))


def place_of(function: Any) -> tuple[str, int]:
    """File and first line of a function; of a callable object, those of its class's call."""
    inner = inspect.unwrap(function)
    while isinstance(inner, (functools.partial, MethodType)):
        inner = inner.func if isinstance(inner, functools.partial) else inner.__func__
    if not hasattr(inner, "__code__"):
        inner = type(inner).__dict__.get("__call__", inner)
    code = getattr(inner, "__code__", None)
    return (code.co_filename, code.co_firstlineno) if code is not None else ("<unknown>", 1)


def of_block(text: CellText, block: Block, namespace: Mapping[str, Any], work: Work) -> str:
    """The cell as a function of its traced inputs, with its static inputs as constants.

    Under transforms it is followed by the transformed function.
    """
    derived = differentiates(work.stack)
    transformed, returns = "", ""
    if not is_plain(work.stack):
        values = jax.tree_util.tree_leaves(block.value)
        holomorphic = any(jax.numpy.iscomplexobj(value) for value in values)
        transformed, returns = spelled(work.stack, work.levels, "cell", holomorphic)
    names, traced = block.inputs.names(), block.inputs.traced_names()
    return module_text.function(
        "cell",
        text.body,
        parameters=tuple(block.inputs.arguments.packed) if transformed else traced,
        results=tuple(
            [
                name
                for name, value in block.outcome.names.items()
                if name.isidentifier() and _is_result(value)
            ]
        ),
        constants={
            name: repr(namespace[name])
            for name in names
            if name not in traced and _is_literal(namespace.get(name))
        },
        preamble=_preamble(text.tree, namespace, set(names)),
        transformed=transformed,
        returns=returns,
        derived=derived,
        has_aux=any(
            isinstance(segment.options, GradOptions) and segment.options.has_aux
            for segment in work.stack
        ),
    )


def of_cell(text: CellText, namespace: Mapping[str, Any]) -> str:
    """The cell of a decorator form, with the imports that it needs."""
    return module_text.joined(_preamble(text.tree, namespace, set()), text.body)


def of_function(function: Any) -> str:
    """The function's own text with the imports and helpers of its module that it names."""
    inner = inspect.unwrap(function)
    try:
        body = textwrap.dedent(inspect.getsource(inner))
        tree = ast.parse(body)
    except (OSError, TypeError, SyntaxError):
        return ""
    return module_text.joined(_preamble(tree, getattr(inner, "__globals__", {}), set()), body)


def _preamble(tree: ast.AST, namespace: Mapping[str, Any], skip: set[str]) -> list[str]:
    """Imports, and the texts of the user's functions and classes, that the tree names."""
    imports: dict[str, None] = {"import jax": None}
    definitions: dict[str, str] = {}
    _gather(tree, namespace, skip | _defined(tree), imports, definitions)
    return [*sorted(imports), *definitions.values()]


def _gather(
    tree: ast.AST,
    namespace: Mapping[str, Any],
    skip: set[str],
    imports: dict[str, None],
    definitions: dict[str, str],
) -> None:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Name) or node.id in skip or node.id not in namespace:
            continue
        name, value = node.id, namespace[node.id]
        skip.add(name)
        if isinstance(value, ModuleType):
            path = value.__name__
            imports[f"import {path}" if path == name else f"import {path} as {name}"] = None
            continue
        home = getattr(value, "__module__", None)
        inner = inspect.unwrap(value) if callable(value) else value
        if isinstance(inner, (FunctionType, type)) and home == namespace.get("__name__"):
            try:
                text = textwrap.dedent(inspect.getsource(inner))
                definitions[name] = ""  # holds its place while its own helpers are gathered
                below = ast.parse(text)
            except (OSError, TypeError, SyntaxError):
                continue
            del definitions[name]
            _gather(below, namespace, skip, imports, definitions)
            definitions[name] = text.rstrip()
        elif home and isinstance(inner, (FunctionType, type)):
            imports[f"from {home} import {name}"] = None
        elif _is_literal(value) and not isinstance(value, str | bytes):
            definitions[name] = f"{name} = {value!r}"


def _defined(tree: ast.AST) -> set[str]:
    kinds = (ast.FunctionDef, ast.ClassDef)
    return {node.name for node in ast.walk(tree) if isinstance(node, kinds)}


def _is_result(value: Any) -> bool:
    """Whether a traced function can return it, and it holds something that was computed."""
    try:
        leaves = jax.tree_util.tree_leaves(value)
    except ValueError:  # keys that JAX cannot sort: a function under jit could not return it
        return False
    kinds = (jax.Array, np.ndarray, np.number, bool, int, float, complex)
    return any(isinstance(leaf, jax.Array) for leaf in leaves) and all(
        isinstance(leaf, kinds) for leaf in leaves
    )


def _is_literal(value: Any) -> bool:
    if value is None or type(value) in (bool, int, float, complex, str, bytes):
        return True
    if type(value) in (tuple, list):
        return len(value) < 50 and all(_is_literal(item) for item in value)
    return False
