"""What is derived from code is what the code gives; the TypeScript of the wire fits the wire."""

from __future__ import annotations

import base64
import dataclasses
import gzip
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from jaxscope.model import Record, from_json
from jaxscope.model.schema import definitions
from jaxscope.results.report import Report
from jaxscope.results.report_diff import compare_reports
from jaxscope.view.bundle import payload_json
from jaxscope.view.bundle.payload import payload
from tests.paths import ROOT
from tools import golden
from tools.typescript import Module, selected, written

REPORT = ROOT / "tests" / "data" / "report" / "report.json"
TEXTS = golden.files()


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_derived_file_is_what_the_code_gives(path: Path) -> None:
    name = path.relative_to(ROOT)
    assert golden.stale({path: TEXTS[path]}) == [], f"{name} is out of date. Run `make golden`."


def test_every_golden_file_that_code_gives_is_compared() -> None:
    names = {path.relative_to(ROOT).as_posix() for path in TEXTS}
    assert {path.relative_to(ROOT).as_posix() for path in ROOT.glob("docs/*.schema.json")} <= names
    assert {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "labextension" / "src" / "schema").iterdir()
    } <= names


def test_a_file_that_is_out_of_date_or_missing_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "old").write_text("a")
    (tmp_path / "same").write_text("b")
    texts = {tmp_path / name: "b" for name in ("old", "same", "missing")}
    assert golden.stale(texts) == [tmp_path / "old", tmp_path / "missing"]


# The shapes that TypeScript is generated from are those of the payloads.


def validate(value: Any, cls: type) -> None:
    types = definitions(cls)
    schema = {"$ref": f"#/$defs/{cls.__name__}", "$defs": types}
    jsonschema.validate(value, schema, cls=jsonschema.Draft202012Validator)


def unpacked(found: dict[str, Any]) -> Any:
    return json.loads(gzip.decompress(base64.b64decode(found["data"])))


@pytest.fixture
def record() -> Record:
    return from_json(Record, json.loads(REPORT.read_text("utf-8")))


@pytest.mark.parametrize("cap", [None, 150_000, 20_000, 4000])
def test_the_payload_of_a_report_has_the_described_shape(record: Record, cap: int | None) -> None:
    two = dataclasses.replace(record, programs=record.programs * 2)
    for each in (record, two, dataclasses.replace(record, programs=())):
        found = payload(each, "an id", cap=cap, figure_kinds={"time": ("stack",)})
        validate(found, payload_json.PayloadJson)
        validate(unpacked(found), payload_json.ReportDataJson)


def test_the_payload_of_a_comparison_has_the_described_shape(record: Record) -> None:
    later = json.loads(REPORT.read_text("utf-8").replace("tanh", "sine"))
    found = compare_reports(Report(record), Report(from_json(Record, later))).payload()
    validate(found, payload_json.PayloadJson)
    data = unpacked(found)
    validate(data, payload_json.DiffDataJson)
    assert any(group["changes"] for stage in data["stages"] for group in stage["groups"])


def test_a_payload_of_a_different_shape_is_noticed(record: Record) -> None:
    data = unpacked(payload(record))
    data["programs"][0]["lines"][0]["3"]["flops"] = "many"
    with pytest.raises(jsonschema.ValidationError, match="many"):
        validate(data, payload_json.ReportDataJson)


# The generator.


@dataclasses.dataclass(frozen=True, slots=True)
class Inner:
    """A part.

    Of no interest.
    """

    size: int
    name: str = "none"


@dataclasses.dataclass(frozen=True, slots=True)
class Outer:
    """A whole."""

    parts: tuple[Inner, ...]
    best: Inner | None
    """None without parts."""
    share: float = 0.5


def test_a_dataclass_becomes_a_type_and_a_function_that_reads_it() -> None:
    text = written(Module("parts", "Parts of a whole.", (Outer,), {"MOST": 3}))
    assert text.splitlines()[2:] == [
        "/** Parts of a whole. */",
        "",
        'import { list, number, object, string } from "../json";',
        "",
        "export const MOST = 3;",
        "",
        "/** A part. */",
        "export interface InnerJson {",
        "  size: number;",
        "  name: string;",
        "}",
        "",
        "export function readInner(value: unknown): InnerJson | undefined {",
        "  const json = object(value);",
        "  if (!json) return undefined;",
        "  const size = number(json.size);",
        "  if (size === undefined) return undefined;",
        "  return {",
        "    size,",
        '    name: string(json.name) ?? "none",',
        "  };",
        "}",
        "",
        "/** A whole. */",
        "export interface OuterJson {",
        "  parts: InnerJson[];",
        "  /** null without parts. */",
        "  best: InnerJson | null;",
        "  share: number | null;",
        "}",
        "",
        "export function readOuter(value: unknown): OuterJson | undefined {",
        "  const json = object(value);",
        "  if (!json) return undefined;",
        "  return {",
        "    parts: list(json.parts, readInner) ?? [],",
        "    best: readInner(json.best) ?? null,",
        "    share: number(json.share) ?? 0.5,",
        "  };",
        "}",
    ]


def test_a_field_that_the_viewer_reads_and_python_no_longer_has_is_an_error() -> None:
    types = definitions(Record)
    del types["Record"]["properties"]["title"]
    with pytest.raises(KeyError, match="title"):
        selected(types)


@dataclasses.dataclass(frozen=True, slots=True)
class Either:
    """One of two shapes."""

    value: Inner | Outer


def test_a_field_that_cannot_be_checked_is_an_error() -> None:
    with pytest.raises(ValueError, match="There is no check for"):
        written(Module("either", "", (Either,)))
