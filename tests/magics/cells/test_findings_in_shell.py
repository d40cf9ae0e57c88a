"""Findings as users meet them: the cells of `tests/analysis/findings` through `%%jaxjit -o r`."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import jax
import pytest

from jaxscope.analysis.findings import RULES, NameFact, findings
from jaxscope.capture.run import evidence
from jaxscope.model import Finding, FindingKind
from tests.magics.cells.cell_shell import CellShell, fresh_session, open_shell
from tests.paths import TESTS

FILES = sorted((TESTS / "data" / "findings").glob("*.py"))


def load(name: str, path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # its dataclasses look themselves up
    spec.loader.exec_module(module)
    return module


golden = load("findings_golden", TESTS / "analysis" / "findings" / "test_findings_golden.py")


@pytest.fixture(scope="module")
def shell() -> Iterator[CellShell]:
    with open_shell() as made:
        yield made


def report_of(shell: CellShell, sections: dict[str, str], options: str) -> Any:
    """The report of a cell that ran after its helper and set-up."""
    quiet = io.StringIO()
    with contextlib.redirect_stdout(quiet), contextlib.redirect_stderr(quiet):
        for name in ("setup", "helper"):
            result = shell.run_cell(sections.get(name, ""))
            assert result.success, result
        result = shell.run_cell(f"%%jaxjit -n 1 -o r {options}\n{sections['cell']}")
    assert result.success, result
    return shell.user_ns["r"]


# What NumPy and JAX say themselves about some of these cells.
@pytest.mark.filterwarnings("ignore:Explicitly requested dtype:UserWarning")
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_report_has_the_findings_that_the_file_names(shell: CellShell, path: Path) -> None:
    case = golden.read(path)
    for package in case.needs:
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    if any(kind is FindingKind.EAGER for kind, *_ in case.fires):
        jax.clear_caches()  # another test may have compiled the same operations
    with fresh_session(shell):
        shell.run_line_magic("load_ext", "jaxscope")
        try:
            report = report_of(shell, case.sections, case.options)
        finally:
            shell.run_line_magic("unload_ext", "jaxscope")
    assert [note for note in report.record.notes if "jaxscope: the rule" in note] == []
    said = [f"{f.kind} line {f.line} source {f.source}: {f.message}" for f in report.findings]
    for kind, line, helper in case.fires:
        places = [(f.line, f.source != 0) for f in report.findings if f.kind is kind]
        assert places == [(line, helper)], said
    for kind in case.silent:
        assert not [f for f in report.findings if f.kind is kind], said


def test_findings_that_fail_leave_the_report_and_a_note(
    shell: CellShell, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> tuple[NameFact, ...]:
        raise ValueError("broken on purpose")

    monkeypatch.setattr(evidence, "evidence", broken)
    with fresh_session(shell):
        shell.run_line_magic("load_ext", "jaxscope")
        sections = {"setup": "import jax.numpy as jnp\nx = jnp.ones(3)", "cell": "y = x * 2\n"}
        report = report_of(shell, sections, "")
        shell.run_line_magic("unload_ext", "jaxscope")
        assert shell.user_ns["y"].tolist() == [2.0, 2.0, 2.0]
    assert report.findings == ()
    assert any("broken on purpose" in note for note in report.record.notes)


def test_a_rule_that_fails_costs_one_line_of_the_report(
    shell: CellShell, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object) -> Iterator[Finding]:
        raise KeyError("gone")
        yield

    monkeypatch.setattr(evidence, "findings", partial(findings, rules=(broken, *RULES)))
    with fresh_session(shell):
        shell.run_line_magic("load_ext", "jaxscope")
        sections = {"setup": "import jax.numpy as jnp", "cell": "y = jnp.sin(jnp.ones(8)).sum()\n"}
        report = report_of(shell, sections, "")
        shell.run_line_magic("unload_ext", "jaxscope")
    assert [f.kind for f in report.findings] == [FindingKind.CONSTANT_FOLDED]
    note = "jaxscope: the rule `broken` failed (KeyError: 'gone'); its findings are missing."
    assert note in report.record.notes
    assert note in " ".join(report.to_text().split())
