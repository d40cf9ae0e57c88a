"""The source of a function, and the module text of `Report.to_python`."""

from __future__ import annotations

import ast
import functools
import inspect
import textwrap
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType, MethodType, ModuleType
from typing import Any

import jax
import numpy as np

from jaxscope.analysis.python import module_text
from jaxscope.analysis.python.cell import CellSyntax, CellText
from jaxscope.capture.forms.block import Block
from jaxscope.capture.forms.call import is_jitted
from jaxscope.capture.inputs import pytrees
from jaxscope.capture.options.composition import GradOptions
from jaxscope.capture.source.sources import SourceFiles
from jaxscope.capture.transforms.apply import TransformedForm
from jaxscope.capture.transforms.to_source import spelled
from jaxscope.model import Source


def source_of(function: Any, cell_name: Callable[[str], str | None]) -> Source | None:
    """The file or the cell that defines a function; None for a library and without a text."""
    sources = SourceFiles(None, cell_name)
    index = sources.index(location_of(function)[0])
    return None if index is None else sources.all()[index]


def location_of(function: Any) -> tuple[str, int]:
    """File and first line of a function; of a callable object, those of its `__call__`."""
    inner = inspect.unwrap(function)
    while isinstance(inner, (functools.partial, MethodType)):
        held = inner.func if isinstance(inner, functools.partial) else inner.__func__
        inner = inspect.unwrap(held)
    if not hasattr(inner, "__code__"):
        inner = type(inner).__dict__.get("__call__", inner)
    code = getattr(inner, "__code__", None)
    return (code.co_filename, code.co_firstlineno) if code is not None else ("<unknown>", 1)


def of_block(
    text: CellText, block: Block, namespace: Mapping[str, Any], form: TransformedForm
) -> str:
    """The cell as a function of its traced inputs, with its static inputs as constants.

    Under transforms it is followed by the transformed function.
    """
    composition = form.composition
    transformed, returns = "", ""
    if not composition.is_plain:
        values = jax.tree_util.tree_leaves(block.value)
        holomorphic = any(jax.numpy.iscomplexobj(value) for value in values)
        transformed, returns = spelled(composition, form.levels, "cell", holomorphic)
    names, traced = block.inputs.names(), block.inputs.traced_names()
    preamble, decorator = _preamble(text.syntax, namespace, names), "jax.jit"
    if block.inputs.holds_module() and not transformed:
        preamble, decorator = ["import equinox", *preamble], "equinox.filter_jit"
    return module_text.function(
        "cell",
        text.body,
        parameters=tuple(block.inputs.arguments.packed) if transformed else traced,
        results=tuple(
            name
            for name, value in block.outcome.names.items()
            if name.isidentifier() and _is_result(value)
        ),
        constants={
            name: repr(namespace[name])
            for name in names
            if name not in traced and _is_literal(namespace.get(name))
        },
        preamble=preamble,
        transformed=transformed,
        returns=returns,
        derived=composition.differentiates,
        has_aux=any(
            isinstance(segment.options, GradOptions) and segment.options.has_aux
            for segment in composition.segments
        ),
        decorator=decorator,
    )


def of_cell(text: CellText, namespace: Mapping[str, Any]) -> str:
    """A cell in decorator form, with the imports that it needs."""
    return module_text.joined(_preamble(text.syntax, namespace), text.body)


def of_function(function: Any) -> str:
    """The function's own text with the imports and helpers of its module that it names.

    Empty for a function without one, and for one that its text does not define: `jax.grad(f)`.
    """
    inner = inspect.unwrap(function)
    if not _is_defined_by(inner, function):
        return ""
    try:
        body = textwrap.dedent(inspect.getsource(inner))
        syntax = CellSyntax(ast.parse(body))
    except (OSError, TypeError, SyntaxError):
        return ""
    return module_text.joined(_preamble(syntax, getattr(inner, "__globals__", {})), body)


def _is_defined_by(inner: Any, function: Any) -> bool:
    """Whether the text of `inner` gives `function`, apart from a `jax.jit` around it."""
    while is_jitted(function) and hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    if function is inner:
        return True
    named: Any = getattr(inner, "__globals__", {}).get(getattr(inner, "__name__", ""))
    while named is not function and is_jitted(named) and hasattr(named, "__wrapped__"):
        named = named.__wrapped__
    return named is function  # by its decorators


def _preamble(
    syntax: CellSyntax, namespace: Mapping[str, Any], inputs: Sequence[str] = ()
) -> list[str]:
    """Imports, and the texts of the user's functions and classes, that the text names."""
    found = _Preamble(namespace, set(inputs))
    found.gather(syntax)
    return [*sorted(found.imports), *found.definitions.values()]


class _Preamble:
    """Imports and definitions that a text needs, in an order in which they can run."""

    def __init__(self, namespace: Mapping[str, Any], known: set[str]) -> None:
        self._namespace = namespace
        self._known = known
        self.imports: dict[str, None] = {"import jax": None}
        self.definitions: dict[str, str] = {}

    def gather(self, syntax: CellSyntax) -> None:
        for name in syntax.reads:
            if name not in self._known and name in self._namespace:
                self._known.add(name)
                self._add(name, self._namespace[name])

    def _add(self, name: str, value: Any) -> None:
        if isinstance(value, ModuleType):
            path = value.__name__
            self.imports[f"import {path}" if path == name else f"import {path} as {name}"] = None
            return
        module = getattr(value, "__module__", None)
        inner = inspect.unwrap(value) if callable(value) else value
        if isinstance(inner, (FunctionType, type)) and module == self._namespace.get("__name__"):
            try:
                text = textwrap.dedent(inspect.getsource(inner))
                below = CellSyntax(ast.parse(text))
            except (OSError, TypeError, SyntaxError):
                return
            self.gather(below)
            self.definitions[name] = text.rstrip()
        elif module and isinstance(inner, (FunctionType, type)):
            self.imports[f"from {module} import {name}"] = None
        elif _is_literal(value) and not isinstance(value, str | bytes):
            self.definitions[name] = f"{name} = {value!r}"


def _is_result(value: Any) -> bool:
    """Whether a traced function can return it, and it contains an array."""
    kinds = (jax.Array, np.ndarray, np.number, bool, int, float, complex)
    try:
        leaves = pytrees.leaves_of(value)
        if not all(isinstance(leaf, kinds) for leaf in leaves):
            return False
        jax.tree_util.tree_structure(value)
    except (ValueError, RecursionError):  # keys that JAX cannot sort, or a container inside itself
        return False
    return any(isinstance(leaf, jax.Array) for leaf in leaves)


def _is_literal(value: Any) -> bool:
    if value is None or type(value) in (bool, int, float, complex, str, bytes):
        return True
    if type(value) in (tuple, list):
        return len(value) < 50 and all(_is_literal(item) for item in value)
    return False
