"""A comparison as the viewer reads it."""

from __future__ import annotations

import base64
import dataclasses
import gzip
import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest

from jaxscope import model as m
from jaxscope.analysis.diff import compare, pair_programs
from jaxscope.results.report import Report
from jaxscope.results.report_diff import compare_reports
from jaxscope.view.bundle.page import built
from jaxscope.view.bundle.payload import CAP, size
from jaxscope.view.diff.payload import payload
from tests.view.conftest import load, plain, text_of, with_program
from tests.view.report.test_document_html import evil


def unpack(found: dict[str, Any]) -> dict[str, Any]:
    return json.loads(gzip.decompress(base64.b64decode(found["data"])))


def changed(record: m.Record, old: str, new: str) -> m.Record:
    """The same report of a program whose texts differ in a word."""
    stages = tuple(
        dataclasses.replace(stage, text=stage.text.replace(old, new))
        for stage in record.programs[0].stages
    )
    return with_program(record, stages=stages)


def test_changes_are_lines_of_the_two_texts(golden: m.Record) -> None:
    later = changed(golden, "tanh", "sine")
    found = compare_reports(Report(golden), Report(later)).payload()
    assert found["kind"] == "diff"
    assert found["schema"] == 1
    stage = unpack(found)["stages"][-1]
    assert stage["kind"] == "optimized_hlo"
    assert stage["before"] == text_of(golden.programs[0], "optimized_hlo")
    pairs = [change for group in stage["groups"] for change in group["changes"]]
    assert pairs
    before, after = stage["before"].splitlines(), stage["after"].splitlines()
    for old, new in pairs:
        assert "tanh" in before[old - 1]
        assert "sine" in after[new - 1]


def test_everything_but_the_stages_is_a_tab(golden: m.Record) -> None:
    later = dataclasses.replace(changed(golden, "tanh", "sine"), findings=golden.findings[:2])
    data = unpack(compare_reports(Report(golden), Report(later)).payload())
    assert [tab["key"] for tab in data["tabs"]] == ["figures", "findings"]
    assert data["first"][0] == "jit(cell)"
    assert all(s["program"] is None for tab in data["tabs"] for s in tab["sections"])


def test_long_texts_are_left_out_and_said(golden: m.Record) -> None:
    later = changed(golden, "tanh", "sine")
    record, pairs = compare(golden, later), pair_programs(golden, later)[0]
    cap = size(payload(record, pairs)) - 1000  # one text does not fit
    found = payload(record, pairs, cap=cap)
    assert size(found) <= cap
    last = unpack(found)["stages"][-1]
    assert last["before"] is None
    assert last["after"] is None
    assert last["groups"] == []
    assert any("left out to keep the notebook small" in sentence for sentence in last["lead"])
    assert any(stage["before"] for stage in unpack(found)["stages"])


def test_runs_without_a_program_and_foreign_text_are_shown(golden: m.Record) -> None:
    for before, after in ((plain(golden), golden), (golden, evil()), (evil(), evil())):
        found = compare_reports(Report(before), Report(after)).payload()
        assert size(found) <= CAP
        data = unpack(found)
        assert data["first"]
        made = "".join(s["markup"] for tab in data["tabs"] for s in tab["sections"])
        assert "<script" not in made
        assert "<img" not in made


def test_the_same_report_twice_has_no_change() -> None:
    data = unpack(compare_reports(Report(load()), Report(load())).payload())
    assert all(stage["groups"] == [] for stage in data["stages"])


def test_the_page_carries_everything(golden: m.Record, tmp_path: Path) -> None:
    noise = "\n".join(hashlib.sha512(str(n).encode()).hexdigest() for n in range(3000))
    stages = tuple(
        dataclasses.replace(stage, text=f"{stage.text}\n{noise}")
        for stage in golden.programs[0].stages
    )
    before = with_program(golden, stages=stages)
    diff = compare_reports(Report(before), Report(changed(before, "tanh", "sine")))
    assert all(stage["before"] is None for stage in unpack(diff.payload())["stages"])
    written = diff.to_html(tmp_path / "diff.html").read_text("utf-8")
    found = re.search(r'id="jaxscope-payload">(.*?)</script>', written, re.DOTALL)
    if found is None:
        assert built("page.js") is None
        pytest.skip("The viewer is not built.")
    whole = unpack(json.loads(found[1]))
    assert all(noise in stage["before"] for stage in whole["stages"])
    assert "<noscript>" in written
    assert "jit(cell)" in written.partition("<noscript>")[2]
