"""Each kind of finding has a rule, and examples on which it fires and on which it is silent."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

from jaxscope.analysis.findings import RULES
from jaxscope.model import FindingKind
from tests.paths import ROOT, TESTS

FOLDER = ROOT / "jaxscope" / "analysis" / "findings"
PLACES = (*sorted(FOLDER.glob("*.py")), ROOT / "jaxscope" / "capture" / "run" / "profiled_cell.py")
CELLS = sorted((TESTS / "data" / "findings").glob("*.py"))
LEAST_CELLS = 60
ELSEWHERE = {
    FindingKind.SLOW_TRACING: "tests/analysis/findings/test_findings.py",
    FindingKind.HOST_TRANSFER: "tests/analysis/findings/test_findings.py",
    FindingKind.HOST_BOUND: "tests/analysis/findings/test_findings.py",
    FindingKind.UNCERTAIN_FIGURE: "tests/analysis/findings/test_findings.py",
    FindingKind.APPROXIMATE_SOURCE_MAPPING: "tests/analysis/findings/test_findings.py",
    FindingKind.SAVED_RESIDUALS: "tests/analysis/findings/test_memory.py",
    FindingKind.RESHARDING: "tests/capture/test_sharding.py",
    FindingKind.REPLICATED_COMPUTATION: "tests/capture/test_sharding.py",
}
"""Kinds that depend on a time, a size or several devices, which a cell cannot fix."""


def kinds_in(path: Path) -> set[str]:
    """Members of `FindingKind` that a file names."""
    return {
        node.attr
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "FindingKind"
    }


def rules_in(path: Path) -> set[str]:
    """Public functions of the form of a rule."""
    return {
        node.name
        for node in ast.parse(path.read_text("utf-8")).body
        if isinstance(node, ast.FunctionDef)
        and not node.name.startswith("_")
        and node.returns is not None
        and ast.unparse(node.returns) == "Iterator[Finding]"
    }


def test_every_kind_is_yielded_by_a_rule() -> None:
    named = set().union(*(kinds_in(path) for path in PLACES))
    missing = [kind.name for kind in FindingKind if kind.name not in named]
    assert missing == [], f"Write a rule in jaxscope/analysis/findings/ that yields {missing}."


def test_every_rule_is_in_the_table() -> None:
    written = set().union(*(rules_in(path) for path in FOLDER.glob("*.py")))
    missing = written - {rule.__name__ for rule in RULES}
    assert missing == set(), f"Add to RULES in jaxscope/analysis/findings/__init__.py: {missing}."


def test_every_kind_fires_on_two_cells_and_is_silent_on_two() -> None:
    heads = "\n".join(path.read_text("utf-8").partition("\n# %%")[0] for path in CELLS)
    fires = Counter(re.findall(r"^# fires: (\w+)", heads, re.MULTILINE))
    silent = Counter(re.findall(r"^# silent: (\w+)", heads, re.MULTILINE))
    few = [
        f"{kind}: {fires[kind]} cells fire, {silent[kind]} are silent"
        for kind in FindingKind
        if kind not in ELSEWHERE and min(fires[kind], silent[kind]) < 2
    ]
    assert few == [], f"Add cells to tests/data/findings/ (two that fire, two that do not): {few}."


def test_the_corpus_has_sixty_planted_defects_and_sixty_healthy_cells() -> None:
    heads = [path.read_text("utf-8").partition("\n# %%")[0] for path in CELLS]
    planted = sum("\n# fires: " in head for head in heads)
    healthy = len(heads) - planted
    assert (planted >= LEAST_CELLS, healthy >= LEAST_CELLS) == (True, True), (planted, healthy)


def test_the_kinds_without_cells_have_tests() -> None:
    for kind, file in ELSEWHERE.items():
        assert kind.name in kinds_in(ROOT / file), f"{file} has no test of {kind}."
