"""The offline page as a file: what it holds, what it forbids, what is left without the viewer."""

from __future__ import annotations

import base64
import hashlib
import json
import re

import pytest

from jaxscope import model as m
from jaxscope.view.bundle import page as pages
from jaxscope.view.bundle.page import NOT_BUILT, inline_script
from jaxscope.view.bundle.payload import payload
from tests.view.bundle.test_payload import unpack
from tests.view.conftest import load, page, with_program
from tests.view.report.test_document_html import EVIL, RECORDS, Document, evil

SCRIPT = 'const text = "</script><!-- <script>";'
STYLE = ".jxs-root{color:red}"


@pytest.fixture
def viewer(monkeypatch: pytest.MonkeyPatch) -> None:
    """A viewer that was built, whatever this checkout has."""
    monkeypatch.setattr(pages, "built", {"page.js": SCRIPT, "page.css": STYLE}.get)


def made(record: m.Record) -> str:
    return page(record, payload(record, cap=None))


def inside(html: str) -> dict[str, object]:
    (text,) = re.findall(
        r'<script type="application/json" id="jaxscope-payload">(.*?)</script>', html, re.S
    )
    assert "<" not in text
    return json.loads(text)


@pytest.mark.usefixtures("viewer")
@pytest.mark.parametrize("name", RECORDS)
def test_the_page_holds_the_record_itself(name: str) -> None:
    data = unpack(inside(made(RECORDS[name])))
    assert m.from_json(m.Record, data["record"]) == RECORDS[name]


@pytest.mark.usefixtures("viewer")
def test_foreign_text_ends_nothing() -> None:
    html = made(evil())
    before, own, after = html.partition(f"<script>{inline_script(SCRIPT)}</script>")
    assert own
    assert after == "</body></html>\n"
    assert before.count("<script") == before.count("</script>") == 1
    assert "<img" not in html
    # The parser of the standard library reads what stands in `noscript` as markup, as a browser
    # without scripts does.
    assert EVIL not in html
    Document(html.replace('<div id="jaxscope"></div>', ""))


@pytest.mark.usefixtures("viewer")
def test_the_policy_lets_nothing_in_but_our_own_style_and_script() -> None:
    html = made(load())
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', html)
    assert policy is not None
    rules = dict(rule.strip().split(" ", 1) for rule in policy[1].split(";"))
    assert rules["default-src"] == "'none'"
    (script,) = re.findall(r"<script>(.*?)</script>", html, re.S)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert rules["script-src"] == f"'sha256-{digest}'"
    nonces = set(re.findall(r"<style([^>]*)>", html))
    assert nonces == {f' nonce="{rules["style-src"].split("-", 1)[1][:-1]}"'}
    assert rules["style-src-attr"] == "'unsafe-inline'"
    assert rules["worker-src"] == "blob:"
    assert rules["base-uri"] == rules["form-action"] == "'none'"


@pytest.mark.usefixtures("viewer")
def test_without_a_script_the_static_report_is_there() -> None:
    html = made(load())
    (static,) = re.findall(r"<noscript>(.*)</noscript>", html, re.S)
    assert "dot_general" in static or "dot(" in static
    assert "runs only while the cell is traced" in static


def test_our_own_script_ends_no_element() -> None:
    assert inline_script(SCRIPT) == 'const text = "<\\/script><\\!-- <script>";'


def test_a_checkout_without_the_viewer_says_what_builds_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "built", lambda name: None)
    html = made(load())
    assert "make setup" in NOT_BUILT
    assert "The viewer is not built" in html or "the viewer is not built" in html
    assert "<script" not in html
    assert "runs only while the cell is traced" in html


def test_the_viewer_that_was_built_stands_in_the_page() -> None:
    script = pages.built("page.js")
    if script is None:
        pytest.skip("The viewer is not built in this checkout; `make setup` builds it.")
    html = made(load())
    assert inline_script(script) in html
    assert not re.search(r"<(link|img|iframe)\b|src=\"http", html)


@pytest.mark.usefixtures("viewer")
def test_fifty_megabytes_are_exported() -> None:
    line = "  %add.1 = f32[8]{0} add(%a, %b)\n"
    text = "let a = b\n" + line * (50_000_000 // len(line))
    record = load()
    record = with_program(record, stages=(m.Stage(m.StageKind.JAXPR, text),))
    data = unpack(inside(made(record)))
    assert data["record"]["programs"][0]["stages"][0]["text"] == text
