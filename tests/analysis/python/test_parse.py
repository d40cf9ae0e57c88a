"""Positions of syntax trees in the text that a person sees."""

from __future__ import annotations

import ast

import pytest

from jaxscope.analysis.python.parse import Code
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
