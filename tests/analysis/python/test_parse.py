"""Positions of syntax trees in the text that a person sees."""

from __future__ import annotations

import ast
import copy
from typing import Any

import pytest

from jaxscope.analysis.python.parse import Code, copied_tree
from jaxscope.model import Source, SourceKind


@pytest.mark.parametrize(
    ("line", "column", "characters"),
    [(1, 4, 4), (2, 8, 7), (2, 3, 2), (3, 4, 4)],
)
def test_a_column_in_bytes_becomes_one_in_characters(
    line: int, column: int, characters: int
) -> None:
    text = "e = 1\né = 1; y = é\n"
    code = Code(0, Source("cell", "cell", SourceKind.CELL, text), ast.parse(text))
    assert code.position(line, column) == (line, characters)


class NotCopied:
    def __deepcopy__(self, memo: dict[int, Any]) -> NotCopied:
        raise AssertionError("the copy went on into another file's tree")


def test_a_copy_of_a_tree_does_not_follow_what_a_traceback_hung_on_its_nodes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tree = ast.parse("y = f(x) + 1")
    for node in ast.walk(tree):
        if not node._fields:
            monkeypatch.setattr(node, "parent", NotCopied(), raising=False)
    with pytest.raises(AssertionError, match="another file"):
        copy.deepcopy(tree)
    made = copied_tree(tree)
    assert ast.dump(made, include_attributes=True) == ast.dump(tree, include_attributes=True)
    statements = [part for part in ast.walk(tree) if part._fields]
    assert not {id(part) for part in ast.walk(made)} & {id(part) for part in statements}
