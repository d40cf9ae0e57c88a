"""The report as a widget: its traits, its answers, and what is said where it cannot be."""

from __future__ import annotations

import base64
import gzip
import json
import sys
from typing import Any

import pytest

pytest.importorskip("anywidget")

import jaxscope.frontend.widget
from jaxscope.frontend.widget import ReportWidget
from jaxscope.model import StageKind
from jaxscope.results.report import Report
from jaxscope.results.report_diff import compare_reports
from tests.view.conftest import load

WIDGET = "application/vnd.jupyter.widget-view+json"


@pytest.fixture
def viewer(monkeypatch: pytest.MonkeyPatch) -> None:
    """A viewer that was built, whatever this checkout has."""
    monkeypatch.setattr(
        jaxscope.frontend.widget, "_viewer", lambda: ("export default {render(){}}", "")
    )


@pytest.fixture
def widget(viewer: None) -> ReportWidget:
    return Report(load()).widget()


def asked(widget: ReportWidget, monkeypatch: pytest.MonkeyPatch, request: Any) -> tuple[Any, Any]:
    """The words of the answer, and what its buffer holds."""
    sent: list[Any] = []
    monkeypatch.setattr(
        widget, "send", lambda content, buffers=None: sent.append((content, buffers))
    )
    widget._handle_custom_msg(request, [])
    ((words, buffers),) = sent
    return words, json.loads(gzip.decompress(buffers[0])) if buffers else None


def test_the_trait_is_the_payload(widget: ReportWidget) -> None:
    data = json.loads(gzip.decompress(base64.b64decode(widget.payload["data"])))
    assert widget.payload["id"] == widget.report.id
    assert len(data["record"]["programs"][0]["stages"]) == len(StageKind)


def test_a_comparison_is_a_widget_with_its_html_beside_it(viewer: None) -> None:
    diff = compare_reports(Report(load()), Report(load()))
    widget = diff.widget()
    assert widget.payload == diff.payload()
    assert widget.payload["kind"] == "diff"
    assert widget.diff is diff
    data, _ = widget.bundle()
    assert set(data) == {"text/plain", "text/html", WIDGET}
    assert diff.summary() in data["text/plain"]


def test_the_selected_line_is_set_from_either_side(widget: ReportWidget) -> None:
    heard: list[Any] = []
    widget.observe(lambda change: heard.append(change["new"]), "selected_line")
    widget.selected_line = 3
    widget.set_state({"selected_line": 7})
    widget.set_state({"selected_line": None})
    assert heard == [3, 7, None]
    with pytest.raises(Exception, match="selected_line"):
        widget.selected_line = 0


def test_a_request_is_answered_under_its_number(
    widget: ReportWidget, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = {"request": 5, "op": "stage", "program": 0, "kind": "optimized_hlo"}
    words, found = asked(widget, monkeypatch, request)
    assert words == {"request": 5, "ok": True}
    assert found["stage"]["text"].startswith("HloModule")
    assert found["instructions"]


@pytest.mark.parametrize(
    ("request_", "says"),
    [
        ({"request": 1, "op": "stage", "kind": "spirv"}, "There is no stage 'spirv'"),
        ({"request": 1, "op": "figure", "kind": "stack"}, "There is no plot"),
        ({"request": 1, "op": "jump"}, "the viewer is newer"),
        ("nonsense", "could not answer"),
    ],
)
def test_what_cannot_be_answered_is_said(
    widget: ReportWidget, monkeypatch: pytest.MonkeyPatch, request_: Any, says: str
) -> None:
    words, found = asked(widget, monkeypatch, request_)
    assert words["ok"] is False
    assert words["why"] == "error"
    assert says in words["message"]
    assert found is None


def test_it_stands_in_layouts_and_its_display_keeps_html_for_a_saved_notebook(
    widget: ReportWidget,
) -> None:
    ipywidgets = pytest.importorskip("ipywidgets")
    assert ipywidgets.VBox([widget]).children == (widget,)
    data, _ = widget.bundle()
    assert set(data) == {"text/plain", "text/html", WIDGET}
    assert data["text/plain"].startswith("jit(cell)")


def test_without_anywidget_a_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "jaxscope.frontend.widget")
    monkeypatch.setitem(sys.modules, "anywidget", None)
    with pytest.raises(ModuleNotFoundError, match=r"needs anywidget.*jaxscope\[widget\]"):
        Report(load()).widget()


def test_without_the_viewer_a_sentence_says_what_builds_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jaxscope.frontend.widget, "built", lambda name: None)
    jaxscope.frontend.widget._viewer.cache_clear()
    with pytest.raises(FileNotFoundError, match="make setup"):
        Report(load()).widget()
