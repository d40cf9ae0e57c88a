"""Names of code in the sentences and tables of the pages exist, as those in its blocks must."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import jaxscope
from jaxscope.model import StageKind
from tests.paths import ROOT

OWNERS = {
    "jaxscope": jaxscope,
    "report": jaxscope.Report,
    "log": jaxscope.CompileLog,
    "`c": jaxscope.Comparison,
    "comparison": jaxscope.Comparison,
    "change": jaxscope.ReportDiff,
    "Report": jaxscope.Report,
    "CompileLog": jaxscope.CompileLog,
    "Comparison": jaxscope.Comparison,
    "ReportDiff": jaxscope.ReportDiff,
}
"""The variables of the examples, and the classes."""
PAGES = (
    *("README.md", "CHANGELOG.md", "CONTRIBUTING.md"),
    *("labextension/README.md", "tests/cells/README.md"),
    *sorted(f"docs/{page.name}" for page in (ROOT / "docs").glob("*.md")),
)
_FOLDERS = "jaxscope|tests|docs|tools|measurements|labextension|src|style"
_PATH = re.compile(rf"`((?:{_FOLDERS})/[\w./-]*)`")
BUILT = ("jaxscope/static/", "docs/measured/gpu/")
"""Not in git: the built viewer, and measurements that only some machine can make."""
_NAME = re.compile(rf"(?<![\w/-])({'|'.join(OWNERS)})\.(?=([A-Za-z_]\w*)(?![\w/-]))")
_OTHERS = {"json", "html", "py", "md", "jaxpr", "implementations", "report"}
"""Endings of files, the group of entry points, a comm."""


def unknown(text: str) -> list[str]:
    """Attributes that the text names and the objects do not have."""
    return [
        f"{owner}.{name}"
        for owner, name in _NAME.findall(text)
        if name not in _OTHERS
        and not hasattr(OWNERS[owner], name)
        and not (owner == "jaxscope" and (ROOT / "jaxscope" / name).is_dir())
    ]


@pytest.mark.parametrize("document", PAGES)
def test_a_page_names_only_what_exists(document: str) -> None:
    assert unknown((ROOT / document).read_text("utf-8")) == []


def test_the_page_of_the_viewer_names_every_stage() -> None:
    page = (ROOT / "docs" / "viewer.md").read_text("utf-8")
    absent = [kind.label for kind in StageKind if kind.label not in page]
    assert absent == [], f"docs/viewer.md does not name {absent}."


def missing(text: str, home: Path = ROOT) -> list[str]:
    """Paths that the text names and that are not there, from the page's folder or the root."""
    return [
        path
        for path in _PATH.findall(text)
        if not (ROOT / path).exists() and not (home / path).exists() and not path.startswith(BUILT)
    ]


@pytest.mark.parametrize("document", PAGES)
def test_a_page_names_only_files_that_exist(document: str) -> None:
    path = ROOT / document
    assert missing(path.read_text("utf-8"), path.parent) == []


def test_the_checklists_name_tests_that_exist() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    named = set(re.findall(r"`(test_\w+)`", text))
    written = {
        name
        for path in (ROOT / "tests").rglob("test_*.py")
        for name in re.findall(r"^def (test_\w+)", path.read_text("utf-8"), re.MULTILINE)
    }
    assert len(named) > 15
    assert named - written == set()


def test_a_file_that_is_gone_is_noticed() -> None:
    assert missing("`jaxscope/model` and `jaxscope/report.py`") == ["jaxscope/report.py"]


def test_a_name_that_is_gone_is_noticed() -> None:
    text = "`report.figure()` of `jaxscope.bench`, `jaxscope.CompileLog.load`, `report.json.gz`"
    assert unknown(text) == ["report.figure", "CompileLog.load"]
