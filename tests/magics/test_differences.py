"""`%jaxdiff` in a real shell: what people type, and what goes wrong."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from IPython.core.completer import provisionalcompleter
from IPython.core.interactiveshell import InteractiveShell

import jaxscope
from jaxscope.magics.differences import Differences

BEFORE = "%%jaxjit -n 0\n# a cell\ny = jnp.sin(x) * 2\nz = y.sum()\n"
AFTER = "%%jaxjit -n 0\n# a cell\ny = jnp.cos(x) * 2\nz = y.sum()\n"


@pytest.fixture
def shell() -> Iterator[Any]:
    made = InteractiveShell()
    made.run_cell("%load_ext jaxscope")
    made.run_cell("%config JaxScope.view = 'text'")
    assert made.run_cell("import jax.numpy as jnp\nx = jnp.ones((8, 8))").success
    yield made
    made.run_cell("%unload_ext jaxscope")


def refused(shell: Any, line: str, capsys: Any) -> str:
    capsys.readouterr()
    shell.run_cell(line)
    shown = capsys.readouterr()
    return shown.out + shown.err


def test_the_last_two_runs_of_the_cell_are_compared(shell: Any, capsys: Any) -> None:
    shell.run_cell(BEFORE)
    shell.run_cell("%%jaxjit -n 0\nother = x + 1\n")
    shell.run_cell(AFTER)
    capsys.readouterr()
    assert shell.run_cell("%jaxdiff -o d").success
    shown = capsys.readouterr().out
    found = shell.user_ns["d"]
    assert isinstance(found, jaxscope.ReportDiff)
    (group,) = found.stage("jaxpr").groups
    assert (group.before, group.after, group.code) == (3, 3, "y = jnp.cos(x) * 2")
    assert found.summary() in shown
    assert "StableHLO: 1 changed" in shown
    assert "−    3  y = jnp.sin(x) * 2" in shown
    assert "+    3  y = jnp.cos(x) * 2" in shown


def test_reports_are_named_one_or_both(shell: Any, capsys: Any) -> None:
    shell.run_cell(BEFORE.replace("-n 0", "-n 0 -o a"))
    shell.run_cell(AFTER.replace("-n 0", "-n 0 -o b"))
    capsys.readouterr()
    shell.run_cell("%jaxdiff -q a b")
    both = capsys.readouterr().out
    shell.run_cell("%jaxdiff -q a")
    assert capsys.readouterr().out == both
    assert both.count("\n") == 1
    shell.run_cell("%jaxdiff -q b a")
    assert "operations" not in capsys.readouterr().out
    shell.run_cell("%jaxdiff a -q b -o change")  # options may follow the names
    assert capsys.readouterr().out == both
    assert shell.user_ns["change"].summary() in both


def test_what_cannot_be_compared_is_said_in_a_sentence(shell: Any, capsys: Any) -> None:
    assert "There is no report yet" in refused(shell, "%jaxdiff", capsys)
    shell.run_cell(BEFORE.replace("-n 0", "-n 0 -o a"))
    assert "There is only one report of the cell that ran last" in refused(
        shell, "%jaxdiff", capsys
    )
    assert "`a` is the last report itself" in refused(shell, "%jaxdiff a", capsys)
    assert "There is no variable `b`" in refused(shell, "%jaxdiff a b", capsys)
    assert "`x` is not a report; its type is ArrayImpl." in refused(shell, "%jaxdiff a x", capsys)
    assert refused(shell, "%jaxdiff a.b", capsys).rstrip().endswith("'a.b' is not a name.")
    assert "got 3 names: a a a" in refused(shell, "%jaxdiff a a a", capsys)
    assert "-o needs a name" in refused(shell, "%jaxdiff -o 1 a", capsys)
    assert "There is no option --wrong" in refused(shell, "%jaxdiff --wrong", capsys)
    assert "There is no option --wrong" in refused(shell, "%jaxdiff a a --wrong", capsys)


def test_a_saved_report_is_compared_as_the_refusal_of_its_path_says(
    shell: Any, capsys: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shell.run_cell(BEFORE.replace("-n 0", "-n 0 -o a"))
    for path in ("old.json", "old.json.gz"):
        shell.user_ns["a"].save(path)
        said = refused(shell, f"%jaxdiff {path} a", capsys)
        fix = re.search(r"Load it first: (before = .*)\.$", said.strip())
        assert fix is not None
        assert shell.run_cell(f"import jaxscope\n{fix[1]}").success
        assert shell.run_cell("%jaxdiff -q before a").success
        assert "the same program" in capsys.readouterr().out


def test_the_same_report_twice_is_the_same_program(shell: Any, capsys: Any) -> None:
    shell.run_cell(BEFORE.replace("-n 0", "-n 0 -o a"))
    capsys.readouterr()
    shell.run_cell("%jaxdiff -q a a")
    assert "the same program" in capsys.readouterr().out


def test_a_failure_to_compare_is_one_line(
    shell: Any, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell.run_cell(BEFORE)
    shell.run_cell(AFTER)

    def broken(*_: object) -> None:
        raise RuntimeError("planted")

    monkeypatch.setattr("jaxscope.results.report_diff.compare_reports", broken)
    capsys.readouterr()
    shell.run_cell("%jaxdiff")
    assert "jaxscope could not compare the reports (RuntimeError: planted)." in (
        capsys.readouterr().out
    )
    assert len(shell.jaxscope_magics.session.reports) == 2


def test_html_has_no_script_and_the_default_view_has_both_forms(
    shell: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell.run_cell(BEFORE.replace("-n 0", "-n 0 -o a"))
    shell.run_cell(AFTER.replace("-n 0", "-n 0 -o b"))
    found = jaxscope.diff(shell.user_ns["a"], shell.user_ns["b"])
    bundle = found._repr_mimebundle_()
    assert set(bundle) == {"text/plain", "text/html"}
    assert "<script" not in bundle["text/html"]
    assert "1 changed" in bundle["text/plain"]


def completions(shell: Any, line: str) -> list[str]:
    with provisionalcompleter():
        return [found.text for found in shell.Completer.completions(line, len(line))]


def test_names_of_reports_and_options_are_completed(shell: Any) -> None:
    shell.run_cell(BEFORE.replace("-n 0", "-n 0 -o kept"))
    found = completions(shell, "%jaxdiff ")
    assert "kept" in found
    assert "--view" in found
    assert "x" not in found
    text = completions(shell, "%jaxdiff --view ")
    assert "html" in text
    assert "kept" not in text


def test_the_page_shows_options_and_examples() -> None:
    page = str(Differences.jaxdiff.__doc__)
    for word in ("--report NAME", "-q", "--view", "%jaxdiff before after", "renumbered names"):
        assert word in page
