"""Jitted functions that a cell calls, each with the arguments of its first call.

To isolate lines, a function is traced again, but JAX keeps no arguments. So a hook wraps each
callee in the cell's own lines: it returns the callee, or records a jitted function's first call.
Bodies of functions stay unchanged, because they outlive the cell.
"""

from __future__ import annotations

import ast
from collections.abc import Generator, MutableMapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxscope.analysis.python.parse import copied_tree
from jaxscope.capture import _jax
from jaxscope.capture.forms.call import is_jitted
from jaxscope.capture.inputs.arguments import holds_tracer
from jaxscope.capture.timing.copies import kept

_HOOK = "__jaxscope_called__"
_MOST = 8
"""Functions measured per cell: each costs a compilation and a hundred calls."""


@dataclass(frozen=True, slots=True)
class JittedCall:
    """A jitted function and the arguments of its first call."""

    name: str
    function: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    jax_settings: _jax.JaxSettings
    """Those at the call, with which JAX has kept what it traced."""

    def arguments(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Equal arguments; donated ones are transferred to the device again."""
        return jax.tree_util.tree_map(
            lambda leaf: jax.device_put(*leaf) if isinstance(leaf, _Saved) else leaf,
            (self.args, self.kwargs),
            is_leaf=lambda leaf: isinstance(leaf, _Saved),
        )


class _Saved(NamedTuple):
    """A host copy of an array that a call may donate; copying it runs no program."""

    value: Any
    sharding: Any


def _saved(leaf: Any) -> Any:
    if not isinstance(leaf, jax.Array) or jnp.issubdtype(leaf.dtype, jax.dtypes.extended):
        return leaf
    return _Saved(np.array(leaf), leaf.sharding)


class CallRecorder:
    """Records the first call of each jitted function while the cell runs."""

    def __init__(self) -> None:
        self.calls: list[JittedCall] = []
        self._seen: list[Any] = []

    def tree(self, tree: ast.Module) -> ast.Module:
        """The cell with a hook around each callee; lines and columns are unchanged."""
        return _Callees().visit(copied_tree(tree))

    @contextmanager
    def recording(self, namespace: MutableMapping[str, Any]) -> Generator[None]:
        """Bind the hook in the cell's namespace while the block runs."""
        namespace[_HOOK] = self._callee
        try:
            yield
        finally:
            namespace.pop(_HOOK, None)

    def _callee(self, function: Any) -> Any:
        """The function itself, or a wrapper that records the first call of a jitted one."""
        if len(self.calls) >= _MOST or not _is_users_jitted(function):
            return function
        if any(function is seen for seen in self._seen):
            return function
        self._seen.append(function)

        def first(*args: Any, **kwargs: Any) -> Any:
            __tracebackhide__ = True
            with suppress(Exception):  # then its lines are not isolated, and the cell still runs
                self._keep(function, args, kwargs)
            return function(*args, **kwargs)

        return first

    def _keep(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if holds_tracer((args, kwargs)):
            return
        args, kwargs = kept(function, args, kwargs)
        if _jax.donates(function) is not False:
            args, kwargs = jax.tree_util.tree_map(_saved, (args, kwargs))
        name = getattr(function, "__name__", "function")
        self.calls.append(JittedCall(str(name), function, args, kwargs, _jax.settings_now()))


def _is_users_jitted(function: Any) -> bool:
    """Whether it is a jitted function of the user: `jnp.sin` is jitted, too."""
    try:
        module = str(getattr(function, "__module__", ""))
        jitted = is_jitted(function) and callable(function)
        return jitted and module.partition(".")[0] != "jax"
    except Exception:  # a user's object may raise on any attribute
        return False


class _Callees(ast.NodeTransformer):
    """`f(x)` → `hook(f)(x)`, in code that runs while the cell runs."""

    def _later(self, node: ast.AST) -> ast.AST:
        return node  # it may run, or be consumed, after the cell

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = _later
    visit_Lambda = visit_GeneratorExp = _later

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        hook = ast.copy_location(ast.Name(_HOOK, ast.Load()), node.func)
        node.func = ast.copy_location(ast.Call(hook, [node.func], []), node.func)
        return node
