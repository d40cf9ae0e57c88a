"""The bugs that `make mutants` puts into the code, the tests that it tries, and what it counts."""

from __future__ import annotations

import ast
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.paths import ROOT
from tools import mutants, mutations
from tools.mutants import Reach
from tools.mutations import Mutant

CODE = """\
import functools
from dataclasses import dataclass

LIMIT = 64 * 1024
NAMES = {"a": 7}


@dataclass(frozen=True)
class Row:
    size: int = 8

    def twice(self, times: int = 2):
        list(zip((), (), strict=True))
        match self.size:
            case 3:
                return f"{self.size * times}"
        return self.size * times
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A checkout with one module and its test."""
    (tmp_path / "tools").mkdir()
    (tmp_path / "tests").mkdir()
    shutil.copy(ROOT / "tools" / "mutant_probe.py", tmp_path / "tools")
    (tmp_path / "code_under_test.py").write_text(CODE)
    return tmp_path


def alone(tree: Path, code: str) -> Any:
    """The value that the code prints as JSON, in a process of its own: the tool forks."""
    start = (
        "import json\nfrom dataclasses import asdict\nfrom pathlib import Path\n"
        "from tools import mutants, mutations\nfrom tools.mutations import Mutant\n"
        f"tree = mutants.ROOT = Path({str(tree)!r})\n"
    )
    command = [sys.executable, "-c", start + code]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def reach_of_the_test(tree: Path, drawn: list[Mutant]) -> Reach:
    return Reach(
        **alone(
            tree,
            f"drawn = {drawn!r}\n"
            "found = mutants.reach(tree, 'tests/test_it.py', drawn, None)\n"
            "print(json.dumps(asdict(found)))",
        )
    )


def killer_of(bug: Mutant, tree: Path) -> str | None:
    return alone(
        tree,
        f"bug = {bug!r}\n"
        "print(json.dumps(mutants.killer(tree, bug, {'tests/test_it.py::test_it': 1.0})))",
    )


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
    assert mutations._changed(ast.parse(before, mode="eval").body) == after


def test_what_a_run_cannot_see_has_no_bugs(tree: Path) -> None:
    found = mutations.mutants(tree / "code_under_test.py", tree)
    assert [(one.scope, one.before, one.after) for one in found] == [
        ("", "7", "(8)"),
        ("Row", "8", "(9)"),
        ("Row", "2", "(3)"),
        ("Row.twice()", "3", "(4)"),
        ("Row.twice()", "self.size * times", "(self.size / times)"),
        ("Row.twice()", "self.size * times", "(self.size / times)"),
    ]


def test_the_same_seed_draws_the_same_bugs_and_each_still_parses(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(mutants, "LAYERS", ("model", "results"))
    drawn = mutants.sample(30, 1)
    assert drawn == mutants.sample(30, 1) != mutants.sample(30, 2)
    for one in drawn:
        raw = (ROOT / one.module).read_bytes()
        assert raw[one.start : one.end].decode() == one.before
        assert ast.dump(ast.parse(one.put_into(raw))) != ast.dump(ast.parse(raw))


def test_a_bug_keeps_its_name_where_code_above_it_changes(tree: Path) -> None:
    path = tree / "code_under_test.py"
    before = list(mutations.mutants(path, tree))
    path.write_text(CODE.replace("LIMIT", "def above():\n    return 1 + 1\n\nLIMIT"))
    after = list(mutations.mutants(path, tree))
    assert {one.name for one in before} < {one.name for one in after}
    assert len({one.name for one in after}) == len(after)


def test_the_tests_beside_a_module_are_those_that_mirror_it() -> None:
    assert mutants.mirroring("jaxscope/analysis/diff/figures.py") == [
        "tests/analysis/diff/test_figures.py"
    ]
    assert "tests/model/test_wire.py" in mutants.mirroring("jaxscope/model/wire.py")


def test_probes_are_put_around_every_expression_that_may_have_one(tree: Path) -> None:
    every = list(mutations.mutants(tree / "code_under_test.py", tree))
    probed = mutations.with_probes(
        CODE.encode(), [(one, n) for n, one in enumerate(every)]
    ).decode()
    ast.parse(probed)
    assert [n for n in range(len(every)) if f".at({n}) or" in probed] == [0, 1, 2, 4, 5]  # no case


def test_the_tests_that_reach_a_bug_are_noted(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mutants, "ROOT", tree)
    (tree / "tests" / "test_it.py").write_text(
        "from code_under_test import Row\n"
        "def test_one(): assert Row().twice() == 16\n"
        "def test_none(): assert Row()\n"
        "def test_failing(): assert Row().twice() == 0\n"
    )
    drawn = list(mutations.mutants(tree / "code_under_test.py", tree))
    mutants.put_probes(tree, drawn)
    found = reach_of_the_test(tree, drawn)
    assert found.seconds.keys() == {"tests/test_it.py::test_one", "tests/test_it.py::test_none"}
    assert [found.reached[one.name] for one in drawn] == [
        ["tests/test_it.py::test_one"],  # at import: of the code that may read it
        ["tests/test_it.py::test_one"],
        ["tests/test_it.py::test_one"],
        [],
        [],
        ["tests/test_it.py::test_one"],
    ]
    assert mutants.reach(tree, "tests/test_it.py", drawn, found) is found
    assert mutants.reach(tree, "tests/test_it.py", drawn, found) is found
    (tree / "tests" / "test_it.py").write_text("def test_other(): pass\n")
    assert reach_of_the_test(tree, drawn).seconds.keys() == {"tests/test_it.py::test_other"}


def test_tests_beside_the_module_that_reach_the_bug_come_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bug = Mutant("jaxscope/model/wire.py", "f()", 0, 1, "1", "(2)", 0, 1)
    monkeypatch.setattr(mutants, "mirroring", lambda module: ["tests/m.py"])
    seconds = {"tests/m.py::a": 9, "tests/m.py::b": 8, "tests/o.py::a": 1, "tests/o.py::b": 2}
    here = Reach("", {**seconds, "tests/p.py::a": 1, "tests/o.py::c": 30}, {bug.name: [*seconds]})
    assert list(mutants.chosen(bug, [here], 40)) == [
        "tests/m.py::b", "tests/m.py::a", "tests/o.py::a", "tests/o.py::b",
    ]  # fmt: skip
    # Drawn since: those beside the module.
    assert list(mutants.chosen(bug, [Reach("", seconds, {})], 40)) == [
        "tests/m.py::b",
        "tests/m.py::a",
    ]


@pytest.mark.parametrize(
    ("check", "killer"),
    [
        ("assert Row().twice(3) == 24", "tests/test_it.py::test_it"),
        ("assert Row(0).twice() == 0", None),
    ],
)
def test_a_bug_is_killed_by_a_test_that_sees_it(check: str, killer: str | None, tree: Path) -> None:
    test = f"from code_under_test import Row\ndef test_it():\n    {check}\n"
    (tree / "tests" / "test_it.py").write_text(test)
    bug = list(mutations.mutants(tree / "code_under_test.py", tree))[-1]
    assert killer_of(bug, tree) == killer
    assert (tree / "code_under_test.py").read_text() == CODE


def test_a_bug_that_breaks_the_import_is_killed(tree: Path) -> None:
    (tree / "code_under_test.py").write_text("ONE = {1: 1}[1]\n")
    test = "from code_under_test import ONE\ndef test_it():\n    assert ONE\n"
    (tree / "tests" / "test_it.py").write_text(test)
    bug = list(mutations.mutants(tree / "code_under_test.py", tree))[-1]
    assert killer_of(bug, tree) == "none can be collected"


def test_the_rate_leaves_out_only_what_is_equivalent(tmp_path: Path) -> None:
    outcomes = ("killed", "killed", "survived", "untested", "equivalent")
    drawn = [Mutant("m.py", "f()", n, 1, "1", "(2)", 0, 1) for n in range(len(outcomes) + 2)]
    found = {one.name: (name, "why") for one, name in zip(drawn, outcomes, strict=False)}
    mutants.write(tmp_path / "sample.json", 0, drawn, found)
    row = json.loads((tmp_path / "sample.json").read_text("utf-8"))
    names = ("sampled", "killed", "survived", "untested", "equivalent", "untried")
    assert [row[name] for name in names] == [7, 2, 1, 1, 1, 2]
    assert row["rate"] == pytest.approx(2 / 6)
