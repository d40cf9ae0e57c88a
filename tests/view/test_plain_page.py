"""The offline page as a file: what it holds and what it forbids."""

import base64
import hashlib
import json
import re

import pytest

from jaxscope import model as m
from jaxscope.view.plain_page import page
from view.conftest import load, plain, with_program
from view.test_html import EVIL, RECORDS, Document, evil


def block(html: str, name: str) -> str:
    found = re.search(rf'<script type="application/json" id="{name}">(.*?)</script>', html, re.S)
    assert found is not None
    return found.group(1)


@pytest.mark.parametrize("name", RECORDS)
def test_the_page_holds_the_record_itself(name: str) -> None:
    data = json.loads(block(page(RECORDS[name]), "jaxscope-record"))
    assert m.from_json(m.Record, data) == RECORDS[name]


def test_the_json_cannot_end_its_script() -> None:
    text = block(page(evil()), "jaxscope-record")
    assert "<" not in text
    assert text.count("\\u003cscript>") > 5
    assert EVIL in json.loads(text)["notes"]


def test_the_policy_lets_nothing_in_but_our_own_style_and_script() -> None:
    html = page(load())
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', html)
    assert policy is not None
    assert policy[1].startswith("default-src 'none'; ")
    assert "unsafe" not in policy[1]
    for tag, rule in (("script", "script-src"), ("style", "style-src")):
        (text,) = re.findall(rf"<{tag}>(.*?)</{tag}>", html, re.S)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{rule} 'sha256-{digest}'" in policy[1]


def test_nothing_is_fetched_and_no_markup_is_made_from_text() -> None:
    html = page(load())
    outside = re.sub(r'<script type="application/json".*?</script>', "", html, flags=re.S)
    assert not re.search(r"https?://|@import|url\(|\bfetch\(|XMLHttpRequest|WebSocket", outside)
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", outside)


@pytest.mark.parametrize("name", RECORDS)
def test_the_parts_nest_and_their_ids_are_there_once(name: str) -> None:
    document = Document(page(RECORDS[name]))
    assert len(set(document.ids)) == len(document.ids)
    assert "Source and stages" in document.text
    assert "jaxlib" in document.text


def test_figures_travel_beside_the_record() -> None:
    figures = json.loads(block(page(load()), "jaxscope-figures"))
    assert figures[0][0]["3"] == [4, 6, 4227072.0, True]
    assert figures[0][1]["6"][0] == 22
    assert json.loads(block(page(plain(load())), "jaxscope-figures")) == []


def test_numbers_that_json_does_not_know_do_not_break_the_page() -> None:
    odd = with_program(load(), cost=m.Cost(float("inf"), float("nan"), 1.0))
    text = block(page(odd), "jaxscope-record")
    assert "Infinity" not in text
    assert "NaN" not in text


def test_the_page_is_a_tenth_of_a_megabyte_and_grows_with_the_text_alone() -> None:
    small = len(page(load()))
    assert small < 160_000
    stage = m.Stage(m.StageKind.JAXPR, "y" * 1_000_000)
    assert len(page(with_program(load(), stages=(stage,)))) < small + 1_000_000
