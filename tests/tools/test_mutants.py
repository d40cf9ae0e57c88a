"""The bugs that `make mutants` puts into the code, and what it counts."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.paths import ROOT
from tools import mutants


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a < b", "a <= b"),
        ("a is None", "a is not None"),
        ("a * b", "a / b"),
        ("a and b", "a or b"),
        ("not a", "a"),
        ("b if a else c", "c if a else b"),
        ("True", "False"),
        ("7", "8"),
        ("f'{a}' + 'text'", None),
        ("a", None),
    ],
)
def test_a_bug_is_one_small_change(before: str, after: str | None) -> None:
    assert mutants._changed(ast.parse(before, mode="eval").body) == after


def test_the_same_seed_draws_the_same_bugs_and_each_still_parses() -> None:
    drawn = mutants.sample(30, 1)
    assert drawn == mutants.sample(30, 1) != mutants.sample(30, 2)
    for one in drawn:
        raw = (ROOT / one.module).read_bytes()
        assert raw[one.start : one.end].decode() == one.before
        changed = raw[: one.start] + one.after.encode() + raw[one.end :]
        assert ast.dump(ast.parse(changed)) != ast.dump(ast.parse(raw))


def test_the_tests_beside_a_module_are_those_that_mirror_it() -> None:
    assert mutants.mirroring("jaxscope/analysis/diff/figures.py") == [
        "tests/analysis/diff/test_figures.py"
    ]
    assert "tests/model/test_wire.py" in mutants.mirroring("jaxscope/model/wire.py")


@pytest.mark.parametrize(
    ("check", "outcome"),
    [
        ("assert twice(3) == 6", "killed"),
        ("assert twice(0) == 0", "survived"),
        ("1 / 0", "untested"),
    ],
)
def test_a_bug_is_killed_by_a_test_that_sees_it(
    check: str, outcome: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    test = f"from code_under_test import twice\ndef test_it():\n    {check}\n"
    (tmp_path / "code_under_test.py").write_text("def twice(x):\n    return x * 2\n")
    (tmp_path / "test_it.py").write_text(test)
    monkeypatch.setattr(mutants, "mirroring", lambda module: ["test_it.py"])
    text = (tmp_path / "code_under_test.py").read_text()
    start = text.index("x * 2")
    bug = mutants.Mutant("code_under_test.py", 2, "x * 2", "(x / 2)", start, start + 5)
    assert mutants.outcome(tmp_path, bug, {}) == outcome
    assert (tmp_path / "code_under_test.py").read_text() == text
