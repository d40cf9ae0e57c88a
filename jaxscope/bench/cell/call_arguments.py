"""Arrays that arguments make, `loop(np.ones((64, 64)))`, as an input of all implementations.

In the timed code, NumPy would fill the array in every call, and a compiler would compute the
constant once: then its program has nothing to do. `loop(x[[0, 5]])` takes its rows by NumPy's rules
where `x` is a NumPy array, which are not those of other libraries.
"""

from __future__ import annotations

import ast
import copy
import re
import types
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from jaxscope.analysis.python.cell import CellSyntax
from jaxscope.bench.cell.framework import imports
from jaxscope.bench.cell.timed_code import USUAL

_DTYPE = re.compile(r"(u?int|b?float|complex|half|single|double|bool)(\d+|_)?(_\w+)?")


class MadeArguments:
    """The set-up of a cell, to which the arrays that all its implementations make are added."""

    def __init__(self, setup: str, namespace: Mapping[str, Any], sizes: Collection[str]) -> None:
        """`setup` has an empty line for each line of the cell that is not set-up."""
        tree = ast.parse(setup)
        self._lines = setup.split("\n")
        self._namespace = namespace
        self._known = {*dict(imports(tree)), *sizes}
        self._bound = set(CellSyntax(tree).bound)
        self._taken = {one.id for one in ast.walk(tree) if isinstance(one, ast.Name)}
        self._names: dict[str, str] = {}
        self._own: set[int] = set()

    @property
    def setup(self) -> str:
        """The set-up, with each array on the line of the first call that makes it."""
        return "\n".join(self._lines)

    def add(self, calls: Sequence[tuple[ast.Call, Sequence[str]]]) -> None:
        """Bind what each of these calls makes; with a call, the names of its parameters."""
        every = [{_alike(one) for one in self._made(call)} for call, _ in calls]
        for call, parameters in calls:
            names = [*parameters, *["x"] * len(call.args)]
            given = [*zip(names, call.args, strict=False)]
            given += [(one.arg or "x", one.value) for one in call.keywords]
            for name, value in given:
                if value in self._made(call) and all(_alike(value) in one for one in every):
                    self._bind(name, value)

    def named(self, call: ast.Call) -> str | None:
        """The text of the call's arguments with these names; None where it makes none of them."""
        made = {id(one) for one in self._made(call) if _alike(one) in self._names}
        if not made:
            return None

        def named(value: ast.expr) -> str:
            return self._names[_alike(value)] if id(value) in made else ast.unparse(value)

        keywords = [f"{one.arg}={named(one.value)}" for one in call.keywords if one.arg]
        rest = [ast.unparse(one) for one in call.keywords if not one.arg]
        return ", ".join([*map(named, call.args), *keywords, *rest])

    def _made(self, call: ast.Call) -> list[ast.expr]:
        """The arguments that are calls or parts of an array, and read nothing but that, modules,
        sizes and numbers."""
        values = [*call.args, *[one.value for one in call.keywords]]
        return [value for value in values if self._makes(value)]

    def _makes(self, value: ast.expr) -> bool:
        match value:
            case ast.Call():
                read: ast.expr = value
            case ast.Subscript(value=ast.Name(id=name), slice=read) if self._is_array(name):
                pass
            case _:
                return False
        return all(self._is_known(one.id) for one in ast.walk(read) if isinstance(one, ast.Name))

    def _is_array(self, name: str) -> bool:
        return name in self._bound or hasattr(self._namespace.get(name), "dtype")

    def _is_known(self, name: str) -> bool:
        if name in self._known or name in self._bound:
            return name in self._known
        value = self._namespace.get(name)
        missing = name not in self._namespace and name in USUAL
        return missing or isinstance(value, types.ModuleType | int | float)

    def _bind(self, name: str, value: ast.expr) -> None:
        text, key, line = ast.unparse(value), _alike(value), value.lineno - 1
        if key in self._names or (self._lines[line] and line not in self._own):
            return  # bound before, or behind other code of the line
        while name in self._taken or name in self._namespace:
            name += "_"
        self._taken.add(name)
        self._own.add(line)
        self._names[key] = name
        self._lines[line] += f"{'; ' if self._lines[line] else ''}{name} = {text}"


def _alike(value: ast.expr) -> str:
    """The same text for `np.ones(3, np.float32)` and `jnp.ones(3)`: without module and dtype."""

    class Bare(ast.NodeTransformer):
        def visit_Call(self, node: ast.Call) -> ast.AST:
            node.args = [one for i, one in enumerate(node.args) if i == 0 or not _is_dtype(one)]
            node.keywords = [one for one in node.keywords if one.arg != "dtype"]
            return self.generic_visit(node)

        def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
            root = node.value
            while isinstance(root, ast.Attribute):
                root = root.value
            return ast.Name(node.attr) if isinstance(root, ast.Name) else self.generic_visit(node)

    return ast.unparse(Bare().visit(copy.deepcopy(value)))


def _is_dtype(node: ast.expr) -> bool:
    """Whether an argument after the first is `np.float32` or `'f'`; `np.pi` is none."""
    if isinstance(node, ast.Attribute):
        return _DTYPE.fullmatch(node.attr) is not None
    return isinstance(node, ast.Constant) and isinstance(node.value, str)
