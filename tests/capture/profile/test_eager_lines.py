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


def test_the_time_that_a_line_waits_for_others_is_not_its_own() -> None:
    waits = CellLine(0, 2, 0.08, 0.001, 4, eager=4, others_s=0.07)
    works = CellLine(0, 3, 0.02, 0.001, 4, eager=4)
    cell = CellProfile(
        0.1, (waits, works), 0.002, 0.0, 8, eager=8, events=8, compile_s=0.0, eager_s=0.002
    )
    found = findings(cell, ast.parse("\ntotal += float(x.sum())\ny = x + 1"), {})
    assert [one.line for one in found] == [3, 2]
    assert "took 10 ms in Python, " in found[1].message
    assert [one.fix.partition(" into")[0] for one in found] == ["Move it", "Move its operations"]
