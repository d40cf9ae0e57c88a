"""README and guide: their code runs, one block after the other, and their links lead somewhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from IPython.core.interactiveshell import InteractiveShell

import jaxscope
from jaxscope.magics import FAMILIES
from jaxscope.magics.config import JaxScope
from tests.paths import ROOT

PAGES = (
    "README.md",
    "docs/index.md",
    "docs/guide.md",
    "docs/batching.md",
    "docs/gradients.md",
    "docs/transforms.md",
    "docs/compiles.md",
    "docs/profile.md",
    "docs/viewer.md",
    "docs/benchmarks.md",
)
DOCUMENTS = (
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    *(f"docs/{path.relative_to(ROOT / 'docs')}" for path in sorted((ROOT / "docs").rglob("*.md"))),
)
"""All that is written for people, also pages whose code is not run here."""
_BLOCK = re.compile(r"^```(python|ipython)\n(.*?)^```$", re.M | re.S)
_LINK = re.compile(r"\]\(([^)\s]+)\)|(?:src|srcset)=\"([^\"]+)\"")
_OTHERS = ("%%jaxwatch", "%%jaxbench", "%%jaxprof")
"""These show no program beside its source."""
_IMAGE_BYTES = 250_000
_MOVING_BYTES = 450_000


def blocks(page: str) -> list[tuple[str, str]]:
    """Language and code of the blocks that are meant to run."""
    found = _BLOCK.findall((ROOT / page).read_text(encoding="utf-8"))
    return [(language, code) for language, code in found]


def shortened(code: str) -> str:
    """The block with a quarter of its time for measuring: the limits took most of the time."""
    limited = code.replace("inputs=(matrices,))", "inputs=(matrices,), time_limit=8)")
    return re.sub(
        r"(--time-limit |time_limit=)(\d+)", lambda m: f"{m[1]}{int(m[2]) / 4:g}", limited
    )


def targets(page: str) -> list[str]:
    """What the page links to or shows, without other sites."""
    found = _LINK.findall((ROOT / page).read_text(encoding="utf-8"))
    links = [first or second for first, second in found]
    return [link for link in links if "://" not in link]


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[InteractiveShell]:
    """A shell of its own, in a folder where examples may write."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    InteractiveShell.clear_instance()
    made = InteractiveShell.instance()
    made.history_manager.enabled = False
    try:
        yield made
    finally:
        jaxscope.unload_ipython_extension(made)
        made.history_manager.end_session()
        InteractiveShell.clear_instance()


@pytest.mark.page
@pytest.mark.parametrize("document", PAGES)
def test_every_block_of_code_runs(
    document: str, shell: InteractiveShell, capsys: pytest.CaptureFixture[str]
) -> None:
    code = blocks(document)
    assert any(language == "python" for language, _ in code)
    assert sum(text.startswith(("%%jax", "%jax")) for _, text in code) >= 3
    for _, text in code:
        result = shell.run_cell(shortened(text), store_history=True)
        shown = capsys.readouterr().out
        assert result.success, f"{text}\n{shown}"
        assert "jaxscope could not" not in shown, f"{text}\n{shown}"
        assert "Nothing was measured" not in shown, f"{text}\n{shown}"
        reports = text.startswith("%%jax") and not text.startswith(_OTHERS)
        if reports and "-q" not in text.splitlines()[0]:
            assert "Source: cell" in shown, f"{text}\n{shown}"


def test_pages_have_links_to_check() -> None:
    assert [page for page in PAGES if not targets(page)] == []
    assert set(PAGES) <= set(DOCUMENTS)


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_link_leads_to_a_file_or_a_heading(document: str) -> None:
    home = (ROOT / document).parent
    for target in targets(document):
        path, _, anchor = target.partition("#")
        file = (home / path) if path else ROOT / document
        assert file.exists(), f"{document} links to {target}, which is not there"
        if anchor:
            assert anchor in headings(file), (
                f"{document} links to {target}, which has no such heading"
            )


def headings(file: Path) -> set[str]:
    """The anchors that GitHub makes of a page's headings."""
    lines = file.read_text(encoding="utf-8").splitlines()
    titles = [line.lstrip("#").strip() for line in lines if line.startswith("#")]
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def test_pictures_are_there_and_small() -> None:
    found = [(page, t) for page in PAGES for t in targets(page) if t.endswith(".png")]
    assert found
    for page, picture in found:
        data = (ROOT / page).parent.joinpath(picture).read_bytes()
        assert len(data) <= (_MOVING_BYTES if b"acTL" in data[:80] else _IMAGE_BYTES), picture


def test_the_first_picture_of_the_readme_moves_in_both_themes() -> None:
    pictures = [t for t in targets("README.md") if t.endswith(".png")]
    moving = [t for t in pictures if b"acTL" in (ROOT / t).read_bytes()[:80]]
    assert moving == pictures[:2] == ["docs/images/tour-dark.png", "docs/images/tour.png"]


def test_the_readme_names_every_option_of_the_magic() -> None:
    from jaxscope.magics.options.transforms import parser

    text = (ROOT / "README.md").read_text(encoding="utf-8")
    flags = {flag for action in parser("x", "")._actions for flag in action.option_strings}
    assert [flag for flag in sorted(flags) if f"`{flag}" not in text] == []


def test_the_readme_names_every_public_function() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    missing = [n for n in jaxscope.__all__ if n != "Report" and f"jaxscope.{n}" not in text]
    assert missing == []


def _options() -> dict[str, set[str]]:
    """The long options of every magic, as its page lists them."""
    found: dict[str, set[str]] = {}
    for family in (JaxScope, *FAMILIES):
        for kind in family.magics.values():
            for name, method in kind.items():
                page = str(getattr(family, method).__doc__)
                options = page.partition("\noptions:\n")[2].partition("\nexamples:\n")[0]
                found[name] = set(re.findall(r"(?<![\w-])--[a-z][\w-]*", options))
    return found


def test_every_option_is_described_and_every_described_option_exists() -> None:
    options = _options()
    assert len(options["jaxjit"]) > 10
    known = set().union(*options.values())
    pages = ("README.md", *(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md")))
    described: set[str] = set()
    for page in pages:
        text = (ROOT / page).read_text(encoding="utf-8")
        named = set(re.findall(r"(?<![\w-])--[a-z][\w-]*", text))
        described |= named
        unknown = {name for name in named - known if not name.startswith("--xla_")}
        # Of the pytest plug-in, and of `python -m jaxscope.watch`.
        assert unknown <= {"--jaxscope-compiles", "--out"}, page
    assert known <= described, f"No page describes {known - described}."
