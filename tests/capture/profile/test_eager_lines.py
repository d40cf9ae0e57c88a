"""Findings on lines that ran operations one by one."""

import ast

import pytest

from jaxscope.capture.profile.eager_lines import findings
from jaxscope.model.profile import CellLine, CellProfile


@pytest.mark.parametrize(
    ("host_s", "programs", "shown"), [(0.002, 1, 0), (0.002, 2, 1), (0.01, 1, 1)]
)
def test_one_large_operation_that_is_repeated_is_no_finding(
    host_s: float, programs: int, shown: int
) -> None:
    line = CellLine(0, 2, host_s, 0.03, 20, eager=20, eager_programs=programs)
    cell = CellProfile(
        0.04, (line,), 0.03, 0.0, 20, eager=20, events=20, compile_s=0.0, eager_s=0.03
    )
    assert len(findings(cell, ast.parse("\ny = x @ x"), {})) == shown


@pytest.mark.parametrize(
    ("compile_s", "took"), [(0.0, "80 ms in Python, "), (0.06, "80 ms in Python (60 ms of it")]
)
def test_the_time_of_a_line_says_how_much_of_it_was_compiling(compile_s: float, took: str) -> None:
    line = CellLine(0, 2, 0.08, 0.001, 4, eager=4, compile_s=compile_s)
    cell = CellProfile(
        0.1, (line,), 0.001, 0.0, 4, eager=4, events=4, compile_s=compile_s, eager_s=0.001
    )
    (finding,) = findings(cell, ast.parse("\ny = x + 1"), {})
    assert f"This line ran 4 eager operations and took {took}" in finding.message
