"""Records survive the way to JSON and back, and bad JSON is named."""

import dataclasses
import json
import math

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jaxscope import model as m
from jaxscope.model.schema import json_schema
from tests.paths import ROOT

FOLDER = ROOT / "tests" / "data" / "report"


def golden() -> dict:
    return json.loads((FOLDER / "report.json").read_text("utf-8"))


def test_the_golden_report_survives_the_round_trip() -> None:
    data = golden()
    record = m.from_json(m.Record, data)
    assert m.to_json(record) == data
    assert m.from_json(m.Record, json.loads(json.dumps(m.to_json(record)))) == record


def test_the_golden_report_holds_every_stage_and_every_kind_of_value() -> None:
    (program,) = m.from_json(m.Record, golden()).programs
    assert {stage.kind for stage in program.stages} == set(m.StageKind)
    values = (*program.inputs, *program.constants)
    assert {value.kind for value in values} == set(m.ValueKind)
    inexact = [anchor for stage in program.stages for anchor in stage.anchors if not anchor.exact]
    assert len(inexact) == 3


FINITE = st.floats(allow_nan=False, allow_infinity=False)
st.register_type_strategy(float, FINITE)
st.register_type_strategy(int, st.integers(-(2**63) + 1, 2**63 - 1))


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
@pytest.mark.parametrize("cls", [m.Compile, m.Finding, m.Program, m.Environment, m.Timing])
def test_any_value_survives_the_round_trip(cls: type, data: st.DataObject) -> None:
    value = data.draw(st.from_type(cls))
    text = json.dumps(m.to_json(value), allow_nan=False)
    assert m.from_json(cls, json.loads(text)) == value


def test_fields_at_their_default_are_left_out_but_the_schema_is_written() -> None:
    data = golden()
    assert data["schema"] == m.SCHEMA
    timing = m.to_json(m.Timing("call", "cpu:0", (1.0,)))
    assert timing == {"label": "call", "device": "cpu:0", "samples": [1.0]}


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_number_that_is_not_finite_is_null_and_comes_back_as_nan(value: float) -> None:
    cost = m.Cost(value, 0.0, 1.0)
    text = json.dumps(m.to_json(cost), allow_nan=False)
    assert '"flops": null' in text
    assert math.isnan(m.from_json(m.Cost, json.loads(text)).flops)


def test_unknown_fields_are_ignored_so_that_a_newer_report_can_be_read() -> None:
    data = golden()
    data["color"] = "blue"
    data["programs"][0]["later"] = [1]
    assert m.from_json(m.Record, data) == m.from_json(m.Record, golden())


def test_unavailable_is_told_from_the_value_by_its_fields() -> None:
    data = golden()
    data["programs"][0]["cost"] = {"reason": "XLA gave none"}
    assert m.from_json(m.Record, data).programs[0].cost == m.Unavailable("XLA gave none")


def _broken(path: str, value: object) -> dict:
    data = golden()
    *steps, last = [int(step) if step.isdigit() else step for step in path.split("/")]
    place = data
    for step in steps:
        place = place[step]
    place[last] = value
    return data


@pytest.mark.parametrize(
    ("path", "value", "text"),
    [
        (
            "form",
            "sideways",
            "Record.form is 'sideways'; it must be one of block, function, decorator",
        ),
        ("title", 3, "Record.title must be str, not int."),
        ("sources", {}, "Record.sources must be an array, not dict."),
        ("programs/0", [], "Record.programs[0] must be an object, not list."),
        (
            "programs/0/equations/0/span",
            [1, 2],
            "Record.programs[0].equations[0].span must have 4 entries, not 2.",
        ),
        (
            "programs/0/equations/0/span",
            [1, 2, 3, "x"],
            "Record.programs[0].equations[0].span[3] must be int, not str.",
        ),
        ("programs/0/cost", {"x": 1}, "Record.programs[0].cost must be one of Cost, Unavailable."),
        ("environment", {"jax": "1"}, "Record.environment is incomplete: "),
        ("environment/flags", [["A"]], "flags[0] must have 2 entries, not 1."),
    ],
)
def test_wrong_json_is_refused_with_the_place(path: str, value: object, text: str) -> None:
    with pytest.raises(m.SchemaError) as error:
        m.from_json(m.Record, _broken(path, value))
    assert text in str(error.value)


def test_the_schema_is_valid_and_the_golden_report_obeys_it() -> None:
    schema = json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(golden(), schema, cls=jsonschema.Draft202012Validator)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("form", "sideways"),
        ("schema", "1"),
        ("programs/0/inputs/0/bytes", "many"),
        ("programs/0/equations/0/span", [1, 2, 3]),
        ("programs/0/cost", {"flops": 1}),
        ("findings/0/kind", "gossip"),
    ],
)
def test_the_schema_refuses_what_is_wrong(path: str, value: object) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(_broken(path, value), json_schema())


def test_the_schema_knows_every_field_and_says_what_it_means() -> None:
    definitions = json_schema()["$defs"]
    for cls in (m.Record, m.Program, m.Equation, m.Anchor, m.Timing, m.Memory, m.Cause):
        described = definitions[cls.__name__]
        assert set(described["properties"]) == {f.name for f in dataclasses.fields(cls)}
    assert definitions["Memory"]["properties"]["peak"]["description"].startswith("Arguments,")
    assert definitions["Cost"]["description"].startswith("Work of one run")


def test_the_schema_says_what_a_field_is_that_is_left_out() -> None:
    definitions = json_schema()["$defs"]
    assert definitions["Anchor"]["properties"]["exact"]["default"] is True
    assert "default" not in definitions["Anchor"]["properties"]["line"]
    for name, described in definitions.items():
        for field, schema in described.get("properties", {}).items():
            left_out = field not in described["required"]
            assert left_out == ("default" in schema and field != "schema"), (name, field)


def test_the_schema_carries_the_labels_of_an_enum() -> None:
    kinds = json_schema()["$defs"]["StageKind"]
    assert kinds["x-labels"] == {kind.value: kind.label for kind in m.StageKind}
    assert "x-labels" not in json_schema()["$defs"]["Phase"]
