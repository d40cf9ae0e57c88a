"""Findings as users meet them: one file for each cell in `tests/data/findings`, by `%%jaxjit -o r`.

A file has `# fires: kind line N` (`line -` for none, `source helper` where the line is one of the
helper cell) and `# silent: kind` lines, then the sections `# %% helper`, `# %% setup` and
`# %% cell`. Lines of the cell count from its heading, where a notebook has the magic.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from jaxscope.analysis.findings import RULES, NameFact, findings
from jaxscope.capture.run import evidence
from jaxscope.model import Finding, FindingKind
from tests.analysis.findings.wording import assert_reads_well
from tests.magics.cells.cell_shell import CellShell, fresh_session, open_shell
from tests.paths import TESTS
from tests.thirds import ours

FILES = sorted((TESTS / "data" / "findings").glob("*.py"))
CAVEATS = (FindingKind.UNCERTAIN_FIGURE, FindingKind.HOST_BOUND)
"""They depend on the machine: a healthy cell may have them."""
FIRES = re.compile(r"# fires: (\w+) line (\d+|-)( source helper)?")
SILENT = re.compile(r"# silent: (\w+)")


@dataclass(frozen=True, slots=True)
class Golden:
    fires: tuple[tuple[FindingKind, int | None, bool], ...]
    """(kind, line, whether the line is one of the helper cell)."""
    silent: tuple[FindingKind, ...]
    needs: tuple[str, ...]
    sections: dict[str, str]
    options: str


def read(path: Path) -> Golden:
    head, *parts = re.split(r"^# %% ", path.read_text(encoding="utf-8"), flags=re.M)
    fires, silent, needs = [], [], []
    for line in head.splitlines()[1:]:
        if match := FIRES.fullmatch(line):
            number = None if match[2] == "-" else int(match[2])
            fires.append((FindingKind(match[1]), number, bool(match[3])))
        elif match := SILENT.fullmatch(line):
            silent.append(FindingKind(match[1]))
        elif line.startswith("# needs: "):
            needs += line.removeprefix("# needs: ").split()
        elif line.strip():
            raise ValueError(f"{path.name}: what does {line!r} mean?")
    sections, options = {}, ""
    for part in parts:
        title, _, body = part.partition("\n")
        name, _, more = title.partition(" ")
        sections[name] = body
        options = more if name == "cell" else options
    assert fires or silent, f"{path.name} expects nothing"
    return Golden(tuple(fires), tuple(silent), tuple(needs), sections, options)


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
@pytest.mark.parametrize("path", ours(FILES), ids=lambda path: path.stem)
def test_a_cell_has_the_findings_that_its_file_names(shell: CellShell, path: Path) -> None:
    case = read(path)
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
    texts = [source.text.strip() for source in report.record.sources]
    helper_text = case.sections.get("helper", "").strip()
    said = [f"{f.kind} line {f.line} source {f.source}: {f.message}" for f in report.findings]
    for kind, line, helper in case.fires:
        made = [f for f in report.findings if f.kind is kind]
        places = [(f.line, texts[f.source] == helper_text) for f in made]
        assert places == [(line, helper)], said
    for kind in case.silent:
        assert not [f for f in report.findings if f.kind is kind], said
    if not case.fires:
        assert [f for f in report.findings if f.kind not in CAVEATS] == [], said
    for finding in report.findings:
        assert_reads_well(finding)


@pytest.mark.parametrize(
    ("name", "each"), [("eager_growing", True), ("eager_slices", True), ("eager_tree", False)]
)
def test_a_loop_compiles_in_each_iteration_only_where_shapes_follow_a_rule(
    shell: CellShell, name: str, each: bool
) -> None:
    jax.clear_caches()
    with fresh_session(shell):
        shell.run_line_magic("load_ext", "jaxscope")
        case = read(next(path for path in FILES if path.stem == name))
        report = report_of(shell, case.sections, case.options)
        shell.run_line_magic("unload_ext", "jaxscope")
    (found,) = [one for one in report.findings if one.kind is FindingKind.EAGER]
    assert ("in each iteration" in found.message) == each == ("slices" in found.fix)


@pytest.mark.parametrize(
    ("name", "fix"),
    [
        ("eager_mask", "Compile `means` with `jax.jit`; where its sizes depend on values"),
        ("eager_layers", "Compile the call of the module on line 14 with `jax.jit`."),
    ],
)
def test_the_function_or_module_that_a_loop_runs_as_plain_python_is_named(
    shell: CellShell, name: str, fix: str
) -> None:
    case = read(next(path for path in FILES if path.stem == name))
    for package in case.needs:
        pytest.importorskip(package)
    jax.clear_caches()
    with fresh_session(shell):
        shell.run_line_magic("load_ext", "jaxscope")
        report = report_of(shell, case.sections, case.options)
        shell.run_line_magic("unload_ext", "jaxscope")
    (found,) = [one for one in report.findings if one.kind is FindingKind.EAGER]
    assert found.fix.startswith(fix)


@pytest.mark.parametrize(
    ("value", "fix"),
    [
        ("jnp.sort(x)[-1]", "Use `x.max()`."),
        ("jnp.argsort(x)[0]", "Use `x.argmin()`."),
        ("jnp.sort(x.reshape(2, 2048))[:, -1]", "Use `x.max(axis=-1)`."),
        ("-jnp.sort(-x)[0]", "Use `(-x).min()`."),
        ("jnp.sort(x)[:2]", "Use `-jax.lax.top_k(-x, 2)[0]`, along the last axis."),
        (
            "jnp.sort(-x)[-2:]",
            (
                "Use `jax.lax.top_k(-x, 2)[0]` for `sort(-x)`, along the last axis. It gives them "
                "reversed."
            ),
        ),
        ("jnp.sort(-x)[:2]", "Use `-jax.lax.top_k(x, 2)[0]` for `sort(-x)`, along the last axis."),
        ("jnp.sort(x)[::-1][:2]", "Use `jax.lax.top_k(x, 2)[0]`, along the last axis."),
        (
            "jnp.argsort(x)[-2:]",
            "Use `jax.lax.top_k(x, 2)[1]`, along the last axis. It gives the largest first.",
        ),
        (
            "jnp.argsort(x)[::-1][-2:]",
            "Use `jax.lax.top_k(-x, 2)[1]`, along the last axis. It gives the smallest first.",
        ),
    ],
)
def test_the_fix_of_a_sort_is_the_cheapest_form(shell: CellShell, value: str, fix: str) -> None:
    if "-1]" in value and jax.__version_info__ < (0, 9):
        pytest.skip("JAX 0.8 takes the last element by a dynamic slice")
    with fresh_session(shell):
        shell.run_line_magic("load_ext", "jaxscope")
        setup = "import jax.numpy as jnp\nx = jnp.arange(4096.0)"
        report = report_of(shell, {"setup": setup, "cell": f"y = {value}\n"}, "")
        shell.run_line_magic("unload_ext", "jaxscope")
    assert [one.fix for one in report.findings if one.kind is FindingKind.FULL_SORT] == [fix]


@pytest.mark.parametrize(
    ("value", "fix"),
    [
        ("jnp.linalg.inv(m) @ m[0]", "which is faster and more accurate."),
        ("jnp.linalg.inv(m) @ m.T[:, :32]", "which is faster and more accurate."),
        ("jnp.linalg.inv(m) @ m.T", "which is more accurate."),
        ("m.T @ jnp.linalg.inv(m)", "which is more accurate."),
        (
            "jnp.sum(x[jnp.nonzero(x > 2, size=4096)[0]])",
            "which moves no element. It takes what the mask selects, and no padding of `size=`.",
        ),
    ],
)
def test_a_fix_claims_no_more_than_it_does(shell: CellShell, value: str, fix: str) -> None:
    with fresh_session(shell):
        shell.run_line_magic("load_ext", "jaxscope")
        setup = "import jax.numpy as jnp\nx, m = jnp.arange(4096.0), 3 * jnp.eye(64)"
        report = report_of(shell, {"setup": setup, "cell": f"y = {value}\n"}, "")
        shell.run_line_magic("unload_ext", "jaxscope")
    kinds = (FindingKind.EXPLICIT_INVERSE, FindingKind.MASKED_REDUCTION)
    (finding,) = [one for one in report.findings if one.kind in kinds]
    assert finding.fix.endswith(f", {fix}")


@pytest.mark.parametrize(
    ("value", "given", "form"),
    [
        ("jnp.mean({})", "x", "jnp.mean({values}, where={mask})"),
        ("jnp.max({})", "i", "jnp.max(jnp.where({mask}, {values}, jnp.iinfo({values}.dtype).min))"),
        ("jnp.min({})", "x", "jnp.min(jnp.where({mask}, {values}, jnp.inf))"),
    ],
)
def test_the_fix_of_a_masked_reduction_gives_its_value(
    shell: CellShell, value: str, given: str, form: str
) -> None:
    mask = f"{given} >= 2048"
    picked = f"{given}[jnp.nonzero({mask}, size=2048)[0]]"
    with fresh_session(shell):
        shell.run_line_magic("load_ext", "jaxscope")
        setup = "import jax.numpy as jnp\ni = jnp.arange(4096)\nx = i * 1.0"
        cells = value.format(picked), form.format(values=given, mask=mask)
        reports = [report_of(shell, {"setup": setup, "cell": f"y = {one}\n"}, "") for one in cells]
        results = [shell.user_ns["y"]]
        shell.run_cell(f"z = {cells[0]}")
        results.append(shell.user_ns["z"])
        shell.run_line_magic("unload_ext", "jaxscope")
    first, second = [[f for f in r.findings if f.kind == "masked_reduction"] for r in reports]
    assert first[0].fix.count("`jnp.where(mask" if "jnp.where" in form else "`jnp.mean(") == 1
    assert not second
    assert results[0] == results[1]
    assert results[0].dtype == results[1].dtype


@pytest.mark.parametrize("code", ["", "def step(w):\n    return w * 0.5\n"])
def test_donation_is_advised_only_where_no_earlier_cell_keeps_the_array(
    shell: CellShell, code: str
) -> None:
    cell = f"{code}w = {'step(w)' if code else 'w * 0.5'}\n"
    setup = "import jax.numpy as jnp\nw = jnp.ones((600, 600))\n"
    kept: list[int] = []
    with fresh_session(shell):
        shell.run_line_magic("load_ext", "jaxscope")
        for more in ("", "best = w", "best = {'w': w}", "best = None"):
            report = report_of(shell, {"setup": setup + more, "cell": cell}, "")
            kept.append(sum(one.kind is FindingKind.MISSED_DONATION for one in report.findings))
        shell.run_line_magic("unload_ext", "jaxscope")
    assert kept == [1, 0, 0, 1]


def test_an_input_that_the_option_holds_constant_is_to_be_traced(shell: CellShell) -> None:
    with fresh_session(shell):
        shell.run_line_magic("load_ext", "jaxscope")
        setup = "import jax.numpy as jnp\nx = jnp.arange(8.0)"
        cells = [(setup, " -s x"), (setup, "")]
        found = [report_of(shell, {"setup": s, "cell": "y = x * 2\n"}, o) for s, o in cells]
        shell.run_line_magic("unload_ext", "jaxscope")
    fixes = [[f.fix for f in one.findings if f.kind == "constant_folded"] for one in found]
    assert [len(one) for one in fixes] == [1, 0]
    assert fixes[0][0].startswith("Leave out `-s` for `x`, ")


@pytest.mark.parametrize(
    ("by_hand", "function"),
    [
        ("jnp.exp(x) / jnp.exp(x).sum()", "softmax"),
        ("jnp.log(jnp.exp(x) / jnp.exp(x).sum())", "log_softmax"),
        ("jnp.log(jnp.exp(x).sum())", "logsumexp"),
    ],
)
def test_the_fix_of_an_overflow_is_the_function_for_the_whole(
    shell: CellShell, by_hand: str, function: str
) -> None:
    with fresh_session(shell):
        shell.run_line_magic("load_ext", "jaxscope")
        setup = "import jax, jax.numpy as jnp\nx = jnp.arange(8.0)"
        report = report_of(shell, {"setup": setup, "cell": f"y = {by_hand}\n"}, "")
        expected = shell.user_ns["y"]
        shell.run_cell(f"z = jax.nn.{function}(x)")
        found = shell.user_ns["z"]
        shell.run_line_magic("unload_ext", "jaxscope")
    assert [f.fix for f in report.findings if f.kind == "exp_overflow"] == [
        f"Use `jax.nn.{function}`, which subtracts the maximum first."
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-5)


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
