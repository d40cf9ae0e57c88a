"""What is said of the magics: `%jaxscope`, and the page of each."""

from __future__ import annotations

import ast
import io
import sys
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from jaxscope.magics import FAMILIES
from jaxscope.magics.options.parser import Parser
from jaxscope.magics.options.transform_help import PARSERS
from jaxscope.magics.progress import ProgressBar
from tests.magics.notebook import Notebook, open_notebook
from tests.paths import ROOT


@pytest.fixture(scope="module")
def notebook() -> Iterator[Notebook]:
    with open_notebook() as opened:
        yield opened


def ours(notebook: Notebook) -> list[str]:
    """All magics of jaxscope, with their signs."""
    return [
        f"{sign}{name}"
        for kind, sign in (("cell", "%%"), ("line", "%"))
        for name, function in notebook.shell.magics_manager.magics[kind].items()
        if getattr(function, "__module__", "").startswith("jaxscope.")
    ]


def test_the_overview_names_every_magic(notebook: Notebook) -> None:
    listed = [line.split()[0] for line in notebook.must("%jaxscope").printed.splitlines() if line]
    magics = ours(notebook)
    assert {"%%jaxjit", "%%jaxprof", "%jaxdevices"} <= set(magics)
    named = {word.lstrip("%") for word in listed if word.startswith(("%jax", "%%jax"))}
    missing = {name.lstrip("%") for name in magics} ^ (named - {"jaxjit?"})
    assert missing == set(), f"_GUIDE of magics/status_pages.py needs a line for {missing}."
    for cell in [name for name in magics if name.startswith("%%")]:
        assert cell in listed


def test_every_family_is_in_the_table() -> None:
    folder = ROOT / "jaxscope" / "magics"
    written = {
        node.name
        for path in folder.rglob("*.py")
        for node in ast.parse(path.read_text("utf-8")).body
        if isinstance(node, ast.ClassDef) and "Family" in [ast.unparse(b) for b in node.bases]
    }
    missing = written - {family.__name__ for family in FAMILIES}
    assert missing == set(), f"Add to FAMILIES in jaxscope/magics/__init__.py: {missing}."


def test_every_magic_completes_its_options(notebook: Notebook) -> None:
    scope = notebook.shell.jaxscope_magics
    known = {start for family in (scope, *scope.families) for start in family.completers()}
    missing = set(ours(notebook)) - known - {"%jaxscope"}
    assert missing == set(), f"`completers` of their family lack {missing}."


def test_every_magic_is_in_the_documentation(notebook: Notebook) -> None:
    pages = (ROOT / "README.md", *(ROOT / "docs").glob("*.md"))
    text = "\n".join(page.read_text("utf-8") for page in pages)
    missing = [name for name in ours(notebook) if name not in text]
    assert missing == [], f"No page describes {missing}."


def test_the_overview_of_the_magics_fits_80_columns(notebook: Notebook) -> None:
    lines = notebook.must("%jaxscope").printed.splitlines()
    assert max(len(line) for line in lines if line.startswith("%")) <= 80


def test_every_magic_with_options_has_a_page(notebook: Notebook) -> None:
    for name in ours(notebook):
        page = str(notebook.shell.find_magic(name.lstrip("%"), "line").__doc__)
        if name != "%jaxscope":
            assert f"\n  {name} " in page, f"Make the page of {name} with `documented`."
            assert "\noptions:\n" in page
            assert "\nexamples:\n" in page
            assert max(map(len, page.splitlines())) <= 100


def test_every_option_is_explained() -> None:
    for parser in PARSERS.values():
        assert all(action.help for action in parser._actions)


def test_a_misspelled_option_is_told_by_its_letters_and_not_its_dashes() -> None:
    parser = Parser("jaxtest", "Tests.")
    parser.add_argument("--view")
    assert "mean" not in parser.unknown("--device")
    assert "Did you mean --view?" in parser.unknown("-veiw")
    parser.add_argument("--devices")
    assert "Did you mean --devices?" in parser.unknown("--device=3")


class _Tty(io.StringIO):
    def isatty(self) -> bool:
        return True


@dataclass
class _Step:
    done: float
    text: str


def test_a_progress_bar_stays_on_one_line_of_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setattr(sys, "stderr", drawn := _Tty())
    bar = ProgressBar(None)
    bar(_Step(0.98, "n = 100 000: numpy: dispatch, kernel and memory"))
    line = drawn.getvalue().removeprefix("\r\x1b[K")
    assert "98%" in line
    assert line.endswith("…")
    assert len(line) == 59
