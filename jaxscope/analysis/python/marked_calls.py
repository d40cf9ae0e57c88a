"""The calls that a cell's own top-level code makes, each passed through one hook.

`f(x)` becomes `hook.pick(f)(x)`: the arguments are evaluated after the function, as Python does,
and the call itself stays in the cell's frame, so `locals()` and tracebacks keep their meaning. The
hook is a constant of the code object, so no name appears in the namespace.
"""

import ast
from collections.abc import Iterator
from types import CodeType
from typing import Any

from jaxscope.analysis.python.parse import copied_tree

_PLACEHOLDER = "jaxscope: the function of a call"
_HOOK = "pick"


def marked(tree: ast.Module) -> ast.Module:
    """A copy of the tree in which every top-level call asks the hook.

    Bodies of functions, lambdas and classes stay as they are; their decorators and defaults are
    top-level code. Annotations may be kept as text, so they stay too.
    """
    return ast.fix_missing_locations(_Marker().visit(copied_tree(tree)))


def with_hook(code: CodeType, hook: Any) -> CodeType:
    """The code of a marked tree with the hook in place of its placeholder."""
    constants = tuple(
        [
            with_hook(constant, hook)
            if isinstance(constant, CodeType)
            else hook
            if isinstance(constant, str) and constant == _PLACEHOLDER
            else constant
            for constant in code.co_consts
        ]
    )
    same = all(a is b for a, b in zip(constants, code.co_consts, strict=True))
    return code if same else code.replace(co_consts=constants)


def all_codes(code: CodeType) -> Iterator[CodeType]:
    """The code objects of all functions, lambdas and classes inside, at any depth."""
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from all_codes(constant)


class _Marker(ast.NodeTransformer):
    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        hook = ast.Attribute(ast.Constant(_PLACEHOLDER), _HOOK, ast.Load())
        picked = ast.copy_location(ast.Call(hook, [node.func], []), node.func)
        return ast.copy_location(ast.Call(picked, node.args, node.keywords), node)

    def visit_FunctionDef(self, node: Any) -> Any:
        node.decorator_list = self._all(node.decorator_list)
        self._defaults(node.args)
        return node

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        self._defaults(node.args)
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        node.decorator_list = self._all(node.decorator_list)
        node.bases = self._all(node.bases)
        node.keywords = self._all(node.keywords)
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        node.target = self.visit(node.target)
        if node.value is not None:
            node.value = self.visit(node.value)
        return node

    def visit_TypeAlias(self, node: ast.AST) -> ast.AST:
        return node

    def _all(self, nodes: list[Any]) -> list[Any]:
        return [node and self.visit(node) for node in nodes]

    def _defaults(self, given: ast.arguments) -> None:
        given.defaults = self._all(given.defaults)
        given.kw_defaults = self._all(given.kw_defaults)
