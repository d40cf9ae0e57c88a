"""The figures that documents quote are those that `make bench` measured."""

import json
from pathlib import Path

import pytest

from measurements.__main__ import BY_HAND, NAMES, main
from measurements.budget import within
from measurements.insert import DOCUMENTS, MARK, inserted
from measurements.page import about, page
from measurements.shell import STAGES, Counter
from tests.paths import ROOT

FOLDER = ROOT / "docs" / "measured"
TEXT = "takes <!-- measured:cell_overhead/mlp/median_s*1000 -->12.3<!-- /measured --> ms"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    data = {"environment": {}, "measured": {"mlp": {"median_s": 0.04251, "rounds": 7}}}
    (tmp_path / "cell_overhead.json").write_text(json.dumps(data), "utf-8")
    return tmp_path


@pytest.mark.parametrize("document", DOCUMENTS)
def test_documents_quote_what_was_measured(document: str):
    text = (ROOT / document).read_text("utf-8")
    assert MARK.search(text)
    assert text.count("<!-- measured:") == text.count("<!-- /measured -->")
    assert text.count("<!-- measured:") == len(MARK.findall(text))
    assert inserted(text) == text, "Run `python -m measurements.insert`."


def test_a_figure_that_is_not_the_measured_one_is_noticed(folder: Path):
    assert inserted(TEXT, folder) == TEXT.replace("12.3", "42.5")
    assert inserted(inserted(TEXT, folder), folder) == inserted(TEXT, folder)


def test_a_figure_that_is_no_fraction_is_quoted_whole(folder: Path):
    text = "<!-- measured:cell_overhead/mlp/rounds --><!-- /measured -->"
    assert inserted(text, folder) == "<!-- measured:cell_overhead/mlp/rounds -->7<!-- /measured -->"


@pytest.mark.parametrize(
    "key", ["cell_overhead/mlp/mean_s", "cells/mlp", "cell_overhead/mlp/rounds/median_s"]
)
def test_a_figure_that_nothing_measured_is_an_error(folder: Path, key: str):
    with pytest.raises(KeyError, match=r"which nothing in .* measured"):
        inserted(f"<!-- measured:{key} -->1<!-- /measured -->", folder)


def test_measured_files_hold_where_and_when():
    for path in sorted(FOLDER.glob("*.json")):
        data = json.loads(path.read_text("utf-8"))
        assert path.stem in (*NAMES, *BY_HAND)
        assert {"commit", "date", "python", "jax", "jaxlib"} <= set(data["environment"]), path


def test_the_page_is_of_the_files_beside_it():
    text = (FOLDER / "README.md").read_text("utf-8")
    assert text == page(FOLDER, (*NAMES, *BY_HAND)), "Run `python -m measurements.insert`."


def test_the_page_has_a_row_for_each_group_with_its_budget(tmp_path: Path):
    measured = {
        "an | odd name": {"median_s": 0.0123, "budget_s": 0.01, "ok": False, "samples": [1, 2]},
        "lines": {"1000": {"opened": {"value": 3, "ok": True}, "page_bytes": 532_004}},
        "imports_jax": False,
    }
    around = {"date": "2026-01-02", "commit": "abc", "jax": "0.10.2", "load_1_min": 1.25}
    data = {"environment": around, "measured": measured}
    (tmp_path / "cell_overhead.json").write_text(json.dumps(data), "utf-8")
    text = page(tmp_path, ("startup", "cell_overhead"))
    assert text.startswith("# Measured\n")
    assert "## startup" not in text
    _, _, section = text.partition("## cell_overhead\n\n")
    assert section.splitlines() == [
        about("cell_overhead"),
        "",
        "| what | figures | budget |",
        "|---|---|---|",
        "| all | imports jax no |  |",
        "| an \\| odd name | median 12.3 ms · budget 10 ms | **over** |",
        "| lines · 1000 | page 532 kB |  |",
        "| lines · 1000 · opened | 3 | within |",
        "",
        "*2026-01-02 at abc · jax 0.10.2 · load 1.2 before*",
    ]


def test_the_page_begins_with_the_ratios_to_yardsticks(tmp_path: Path):
    row = {"ratio": 0.12, "budget": 0.15, "ok": True, "yardstick": "import numpy", "samples": [1]}
    over = {**row, "ratio": 2.0, "ok": False, "floor_ratio": 0.5}
    measured = {"import jaxscope": row, "load": over, "again": {"ratio": 1.0}}
    for name, found in (("startup", measured), ("first_cell", over)):
        data = {"environment": {}, "measured": found}
        (tmp_path / f"{name}.json").write_text(json.dumps(data), "utf-8")
    head, _, _ = page(tmp_path, ("startup", "first_cell")).partition("\n\n## startup")
    assert head.splitlines()[4:] == [
        "| what | yardstick in the same run | ratio | floor | budget | |",
        "|---|---|---|---|---|---|",
        "| startup · import jaxscope | import numpy | 0.12 |  | 0.15 | within |",
        "| startup · load | import numpy | 2 | 0.5 | 0.15 | **over** |",
        "| first_cell | import numpy | 2 | 0.5 | 0.15 | **over** |",
    ]


@pytest.mark.parametrize("name", NAMES)
def test_each_measurement_says_what_it_is(name: str):
    sentence = about(name)
    assert sentence.endswith(".")
    assert "python -m" not in sentence
    assert "\ndef measure(" in (ROOT / "measurements" / f"{name}.py").read_text("utf-8")


def test_a_figure_over_its_budget_is_noticed():
    assert within({"a": {"ok": True}, "b": {"c": {"ok": True, "samples": [1]}}})
    assert not within({"a": {"ok": True}, "b": {"c": {"ok": False, "samples": [1]}}})


def test_traces_that_overlap_are_counted_once(monkeypatch: pytest.MonkeyPatch):
    counter = Counter()
    clock = iter((2.0, 3.0, 5.0))
    monkeypatch.setattr("measurements.shell.time.perf_counter", lambda: next(clock))
    counter(STAGES[0], 1.0)
    counter(STAGES[0], 3.0)
    counter(STAGES[2], 1.5)
    assert counter.seconds == 4.5
    assert counter.compiles == 1


def test_an_unknown_measurement_is_refused(capsys: pytest.CaptureFixture[str]):
    assert main(["speed"]) == 2
    assert "There is no measurement 'speed'" in capsys.readouterr().out


def test_where_there_is_no_gpu_nothing_is_measured_on_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr("measurements.__main__.FOLDER", tmp_path)
    monkeypatch.setattr("measurements.__main__.gpu", lambda: "")
    assert main(["--gpu"]) == 0
    assert "JAX has no GPU here" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []


def test_figures_of_a_gpu_lie_in_a_folder_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    class Done:
        returncode = 0
        stdout = '{"lines": {"value": 1, "ok": true}}'

    monkeypatch.setattr("measurements.__main__.FOLDER", tmp_path)
    monkeypatch.setattr("measurements.__main__.gpu", lambda: "a GPU")
    monkeypatch.setattr("measurements.__main__.environment", dict)
    monkeypatch.setattr("measurements.__main__.subprocess.run", lambda *args, **more: Done())
    assert main(["--gpu", "profile_accuracy"]) == 0
    written = json.loads((tmp_path / "gpu" / "profile_accuracy.json").read_text("utf-8"))
    assert written["environment"] == {"device": "a GPU"}
    assert "| lines | 1 | within |" in (tmp_path / "gpu" / "README.md").read_text("utf-8")
    assert not (tmp_path / "README.md").exists()
