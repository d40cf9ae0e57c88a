"""Findings of real cells: one file for each in `findings/`, with what must and must not be said.

A file has `# fires: kind line N` (`line -` for none, `source helper` where the line is one of the
helper cell) and `# silent: kind` lines, then the sections `# %% helper`, `# %% setup` and
`# %% cell`. Lines of the cell count from its heading, where a notebook has the magic.
"""

from __future__ import annotations

import ast
import importlib.util
import itertools
import linecache
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import pytest

from jaxscope.analysis.findings import findings
from jaxscope.analysis.python.cell import CellSyntax, CellText
from jaxscope.capture.compiles.listener import Listener
from jaxscope.capture.forms.side_effects import SideEffectRecorder
from jaxscope.capture.options.settings import Settings
from jaxscope.capture.run import evidence, run
from jaxscope.capture.timing.peaks import PeakCache
from jaxscope.model import Finding, FindingKind, Form
from tests.analysis.findings.wording import assert_reads_well
from tests.paths import TESTS

pytestmark = pytest.mark.jax

FOLDER = TESTS / "data" / "findings"
FILES = sorted(FOLDER.glob("*.py"))
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


def settings(options: str) -> Settings:
    donate = re.findall(r"-d (\w+)", options)
    return Settings(donate=tuple(donate), x64="--x64" in options, runs=1)


def execute(text: str, file: str, namespace: dict[str, Any]) -> None:
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    exec(compile(text, file, "exec"), namespace)


def found_in(golden: Golden, name: str) -> tuple[tuple[Finding, ...], list[str]]:
    """The findings of the cell, and the names of its sources."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    files = {part: f"<{name}-{part}>" for part in ("setup", "helper", "cell")}
    for part in ("setup", "helper"):
        execute(golden.sections.get(part, ""), files[part], namespace)
    text = "%%jaxjit " + golden.options + "\n" + golden.sections["cell"]
    body = "\n" + golden.sections["cell"]
    file = files["cell"]
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    syntax = CellSyntax(ast.parse(body, file))
    others = [CellSyntax(ast.parse(text)).mentioned for text in golden.sections.values()]
    names = evidence.name_facts([*syntax.mentioned, *itertools.chain(*others)], namespace)
    other_cells = {files["setup"]: "setup", files["helper"]: "helper"}
    with Listener() as listener, SideEffectRecorder(file) as effects:
        context = run.RunContext(namespace, listener, PeakCache(), other_cells.get)
        cell = CellText(text, body, file, syntax)
        form = Form.DECORATOR if "--decorate" in golden.options else None
        ran = run.cell(cell, settings(golden.options), context, form)
    known = evidence.evidence(ran.record, ran.texts, evidence.Known(names, effects))
    findings(known)  # raises where a rule fails; the report would only have a note
    return ran.record.findings, [source.name for source in ran.record.sources]


# What NumPy and JAX say themselves about some of these cells.
@pytest.mark.filterwarnings("ignore:Explicitly requested dtype:UserWarning")
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_cell_has_the_findings_that_its_file_names(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    golden = read(path)
    for package in golden.needs:
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    if any(kind is FindingKind.EAGER for kind, *_ in golden.fires):
        jax.clear_caches()  # another test may have compiled the same operations
    made, sources = found_in(golden, path.stem)
    said = [f"{f.kind} line {f.line} source {sources[f.source]}: {f.message}" for f in made]
    for kind, line, helper in golden.fires:
        places = [(f.line, sources[f.source] == "helper") for f in made if f.kind is kind]
        assert (line, helper) in places, said
        assert len(places) == 1, said
    for kind in golden.silent:
        assert not [f for f in made if f.kind is kind], said
    if not golden.fires:
        assert [f for f in made if f.kind not in CAVEATS] == [], said
    for finding in made:
        assert_reads_well(finding)
