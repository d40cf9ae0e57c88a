"""Sources as syntax trees."""

import ast
import copy
import functools
import re
from dataclasses import dataclass

from jaxscope.analysis.python.scopes import Function
from jaxscope.model import Source, SourceKind

_SHARED = (ast.expr_context, ast.boolop, ast.operator, ast.unaryop, ast.cmpop)
"""Nodes without fields: Python gives all trees the same ones."""

_LINE_MAGIC = re.compile(r"^([ \t]*(?:[\w, ]+ = )?)%\w[^\n]*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Code:
    """One source that parses."""

    index: int
    source: Source
    tree: ast.Module

    @property
    def nodes(self) -> tuple[ast.AST, ...]:
        """Every node of the tree, breadth first."""
        return nodes_of(self.tree)

    @property
    def functions(self) -> list[Function]:
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
        return [node for node in self.nodes if isinstance(node, kinds)]

    def position(self, line: int, column: int) -> tuple[int, int]:
        """A location of the syntax tree, which counts UTF-8 bytes, in characters."""
        lines = self.source.lines
        text = lines[line - 1] if 0 < line <= len(lines) else ""
        if text.isascii():
            return line, column
        return line, len(text.encode()[:column].decode(errors="replace"))


def parsed(source: Source) -> ast.Module | None:
    """The tree of a source, with the line numbers of the source; None if it is not Python."""
    text = source.text
    if source.kind is not SourceKind.MODULE and text.startswith("%%"):
        # The magic's line counts as line 1 of the cell, but is not Python.
        text = "\n" + text.partition("\n")[2]
    tree = _tree(text)
    if tree is None and source.kind is not SourceKind.MODULE:
        tree = _tree(_LINE_MAGIC.sub(r"\1None", text))
    return tree


def copied_tree(tree: ast.Module) -> ast.Module:
    """A deep copy, but for the nodes that all trees share.

    On those, `executing`, which finds the place of an error for IPython, sets `parent`: a deep copy
    would follow it through the whole file of the last error.
    """
    memo = {id(node): node for node in ast.walk(tree) if isinstance(node, _SHARED)}
    return copy.deepcopy(tree, memo)


@functools.lru_cache(maxsize=32)
def nodes_of(tree: ast.Module) -> tuple[ast.AST, ...]:
    """Every node of a tree that `parsed` gave, breadth first."""
    return tuple(ast.walk(tree))


@functools.lru_cache(maxsize=32)
def _tree(text: str) -> ast.Module | None:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return None
