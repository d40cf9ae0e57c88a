"""The site of the documentation: every page has its place, every link leads to a page of it.

`make docs` builds it, in strict mode; here is what can be known without MkDocs.
"""

from __future__ import annotations

import importlib.util
import posixpath
import re
import types

import pytest

import jaxscope
from jaxscope.view.bundle.page import built
from tests.paths import ROOT

CONFIGURATION = (ROOT / "mkdocs.yml").read_text("utf-8")


@pytest.fixture(scope="module")
def site() -> types.ModuleType:
    spec = importlib.util.spec_from_file_location("site_pages", ROOT / "tools/site_pages.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def texts(site: types.ModuleType) -> dict[str, str]:
    """Every page of the site as Markdown, by its place."""
    docs = ROOT / "docs"
    own = {
        path.relative_to(docs).as_posix(): path.read_text("utf-8") for path in docs.rglob("*.md")
    }
    return own | site.generated()


def navigated() -> list[str]:
    return re.findall(r"[\w/.-]+\.md\b", CONFIGURATION.partition("\nnav:\n")[2])


def dead(site: types.ModuleType, texts: dict[str, str], uri: str, text: str) -> list[str]:
    """Links of a page that lead to no page or file of the site."""
    moved = site.moved_links(re.sub(r"^```.*?^```$|`[^`\n]*`", "", text, flags=re.M | re.S), uri)
    targets = [posixpath.normpath(posixpath.join(posixpath.dirname(uri), link))
               for link in site._LINK.findall(moved)]  # fmt: skip
    return [one for one in targets if one not in texts and not (ROOT / "docs" / one).is_file()]


def test_every_page_is_in_the_navigation_once(site: types.ModuleType) -> None:
    pages = {path.name for path in (ROOT / "docs").glob("*.md")}
    pages |= {"measured/README.md", "measured/gpu/README.md"}
    assert sorted(navigated()) == sorted(pages | {*site.FILES, "notebooks.md", "api.md"})


def test_every_link_leads_to_a_page_of_the_site(
    site: types.ModuleType, texts: dict[str, str]
) -> None:
    pages = {uri: text for uri, text in texts.items() if uri.endswith(".md")}
    assert len(pages) > 30
    assert {
        uri: gone for uri, text in pages.items() if (gone := dead(site, texts, uri, text))
    } == {}


def test_a_link_out_of_the_site_is_noticed(site: types.ModuleType, texts: dict[str, str]) -> None:
    text = "[a](../demos/01_quickstart.ipynb#x) [b](../README.md) [c](../pyproject.toml) [d](x.md)"
    assert dead(site, texts, "guide.md", text) == ["pyproject.toml", "x.md"]
    assert "](demos/01_quickstart.md#x) [b](index.md)" in site.moved_links(text, "guide.md")


def test_the_api_has_every_public_name(site: types.ModuleType) -> None:
    named = {line.rpartition(".")[2] for line in site.api().splitlines() if line.startswith(":::")}
    assert named == set(jaxscope.__all__)


def test_every_output_of_a_notebook_has_its_place(site: types.ModuleType) -> None:
    for path in site.demos():
        slots = re.findall(r'<div data-output="(\d+)"></div>', site.markdown(path))
        assert slots == [str(number) for number in range(len(site.outputs(path)))]


@pytest.mark.skipif(built("page.js") is None, reason="the viewer is not built")
def test_each_report_of_a_notebook_is_a_page_with_the_viewer(
    site: types.ModuleType, texts: dict[str, str]
) -> None:
    path = site.demos()[0]
    assert len(site.reports(path)) > 3
    page = texts[f"demos/{site.frame(path, 1)}"]
    assert 'id="jaxscope-payload"' in page
    assert "default-src 'none'" in page
    assert site.frame(path, 1) in site.gallery()
    assert site.frame(path, 1) in "".join(site.outputs(path))


def test_the_site_loads_nothing_from_the_network(
    site: types.ModuleType, texts: dict[str, str]
) -> None:
    assert "font: false" in CONFIGURATION
    assert "strict: true" in CONFIGURATION
    assert re.findall(r"https?:", CONFIGURATION) == []
    shown = {uri: text for uri, text in texts.items() if uri.startswith("demos/")}
    shown |= {path.name: "".join(site.outputs(path)) for path in site.demos()}
    assert {uri: found for uri, text in shown.items() if (found := site.foreign(text))} == {}


def test_what_a_different_host_would_send_is_noticed(site: types.ModuleType) -> None:
    page = (
        '<link rel="stylesheet" href="https://a.example/x.css"><link rel="next" href="https://n">'
        '<script async src="//b.example/y.js"></script><img alt="" src=https://c.example/z.png>'
        '<a href="https://d.example">d</a><script src="own.js"></script>'
    )
    assert site.foreign(page) == [
        "https://a.example/x.css",
        "//b.example/y.js",
        "https://c.example/z.png",
    ]


def test_a_comparison_keeps_the_style_of_its_own_html(site: types.ModuleType) -> None:
    (path,) = (path for path in site.demos() if path.stem.startswith("05_"))
    assert site.reports(path) == []
    assert sum('<div class="jxs' in drawn for drawn in site.outputs(path)) >= 3
