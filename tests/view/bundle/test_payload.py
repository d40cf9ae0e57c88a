"""What the viewer is given: whole where it fits, bounded where it does not, and never markup."""

import base64
import dataclasses
import gzip
import json
import random
import re
from typing import Any

import pytest

from jaxscope import model as m
from jaxscope.analysis.links.line_figures import LineFigures
from jaxscope.analysis.links.tallies import Bracket
from jaxscope.model.profile import (
    CellLine,
    CellProfile,
    LineTime,
    OpTime,
    Profile,
    SessionTimes,
    SourceLine,
)
from jaxscope.view.bundle.bounds import MOST_EQUATIONS
from jaxscope.view.bundle.figures import by_instruction, by_line
from jaxscope.view.bundle.payload import CAP, PAYLOAD_SCHEMA, payload, size
from jaxscope.view.profile.lines import flops_words
from tests.view.conftest import plain, text_of, with_program
from tests.view.report.test_document_html import EVIL, RECORDS, evil


def unpack(found: dict[str, Any]) -> dict[str, Any]:
    return json.loads(gzip.decompress(base64.b64decode(found["data"])))


def noise(characters: int, seed: int = 0) -> str:
    """Text that hardly packs, in lines."""
    made = random.Random(seed).randbytes(characters * 3 // 4)
    text = base64.b64encode(made).decode()
    return "\n".join(text[i : i + 100] for i in range(0, len(text), 100))


def with_texts(record: m.Record, **texts: str) -> m.Record:
    return with_program(record, stages=tuple(m.Stage(m.StageKind(k), t) for k, t in texts.items()))


def test_a_page_has_long_texts_apart_from_those_that_it_opens_with() -> None:
    long = noise(600_000)
    record = with_texts(RECORDS["golden"], jaxpr=long, hlo=long, stablehlo="module")
    found = payload(record, cap=None)
    (key,) = found["apart"]
    assert key == "0/hlo"
    answer = json.loads(gzip.decompress(base64.b64decode(found["apart"][key])))
    assert answer["stage"]["text"] == long
    program, figures = unpack(found)["record"]["programs"][0], unpack(found)["programs"][0]
    assert [stage["kind"] for stage in program["stages"]] == ["jaxpr", "stablehlo"]
    assert figures["omitted"]["hlo"]["bytes"] == len(long)
    assert "apart" not in payload(record)


@pytest.mark.parametrize("name", RECORDS)
def test_the_record_travels_whole_where_it_fits(name: str) -> None:
    found = payload(RECORDS[name], "an-id")
    assert found["schema"] == PAYLOAD_SCHEMA
    assert found["id"] == "an-id"
    assert size(found) <= CAP
    assert m.from_json(m.Record, unpack(found)["record"]) == RECORDS[name]


def test_a_line_has_its_equations_instructions_and_work(golden: m.Record) -> None:
    (cell, other) = unpack(payload(golden))["programs"][0]["lines"]
    figures = {"equations": 4, "instructions": 6, "flops": 4227072, "bytes": 492032, "exact": True}
    assert cell["3"] == figures
    assert other["6"]["equations"] == 22
    assert "time" not in cell["3"]


def test_flops_are_approximate_in_the_viewer_where_they_are_in_the_text(
    golden: m.Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    exact = LineFigures(1, 1, 10.0, exact=False, flops_bracket=Bracket(10.0, 10.0))
    less = dataclasses.replace(exact, flops_bracket=Bracket(9.0, 10.0))
    known = {1: exact, 2: less, 3: dataclasses.replace(exact, at_least=True)}
    monkeypatch.setattr("jaxscope.view.bundle.figures.all_figures", lambda *_: [known])
    (rows,) = by_line(golden.programs[0], 1)
    assert [rows[str(n)]["exact"] for n in known] == [True, False, True]
    assert "at_least" not in rows["3"]
    assert [flops_words(row) for row in known.values()] == ["10", "≈10", "10"]


def test_an_instruction_has_its_shape_work_and_runs(golden: m.Record) -> None:
    program = golden.programs[0]
    found = unpack(payload(golden))["programs"][0]["instructions"]
    lines = text_of(program, "optimized_hlo").splitlines()
    (dot,) = (
        n for n in found if " dot(" in lines[int(n) - 1] and "f32[256,10]" in lines[int(n) - 1]
    )
    assert found[dot]["shape"] == "f32[256,10]"
    assert found[dot]["flops"] == 2 * 256 * 10 * 128
    assert found[dot]["times"] == 1
    assert all(" parameter(" not in lines[int(n) - 1] for n in found)


def test_a_profiled_line_and_instruction_have_their_share(golden: m.Record) -> None:
    program = golden.programs[0]
    name = next(
        line.split("=")[0].replace("ROOT", "").strip().lstrip("%")
        for line in text_of(program, "optimized_hlo").splitlines()
        if " dot(" in line
    )
    profile = Profile(
        "cpu:0",
        (SessionTimes((2e-3,), (1.9e-3,)),),
        1,
        (OpTime(name, "dot", 1e-3, 1e-3, 1.0),),
        (LineTime(SourceLine(0, 3, m.Phase.PRIMAL), 1e-3, 1e-3, 1e-3, ops=(name,)),),
        covered_s=1e-3,
        dispatch_s=1e-3,
    )
    program = dataclasses.replace(program, profile=profile)
    assert by_line(program, 1)[0]["3"]["time"] == {
        "seconds": 1e-3,
        "share": 0.5,
        "low": 1e-3,
        "high": 1e-3,
        "estimate": False,
    }
    (timed,) = (row for row in by_instruction(program).values() if "share" in row)
    assert timed["share"] == 0.5


def test_tabs_and_findings_lead_to_lines_by_number(golden: m.Record) -> None:
    data = unpack(payload(golden))
    (details,) = data["tabs"]
    assert details["key"] == "details"
    shown = "".join(section["markup"] for section in details["sections"])
    assert re.findall("<summary>(.*?)</summary>", shown) == [
        "Inputs and outputs",
        "Work and memory",
        "Timing",
        "Compilations",
        "Environment",
    ]
    assert data["findings"].count('data-source="0" data-line="') == 4
    assert data["first"][0] == "jit(cell)"


def test_figures_are_offered_where_the_kernel_can_draw_them(golden: m.Record) -> None:
    data = unpack(payload(golden, "x", figure_kinds={"details": ("memory",)}))
    assert [tab.get("figures") for tab in data["tabs"]] == [["memory"]]
    assert all("figures" not in tab for tab in unpack(payload(golden))["tabs"])


def test_the_longest_text_is_left_out_first(golden: m.Record) -> None:
    record = with_texts(golden, jaxpr="let a = b", stablehlo=noise(60_000), hlo=noise(140_000))
    found = payload(record)
    data = unpack(found)
    assert size(found) <= CAP
    assert [s["kind"] for s in data["record"]["programs"][0]["stages"]] == ["jaxpr", "stablehlo"]
    text = record.programs[0].stages[2].text
    assert data["programs"][0]["omitted"] == {
        "hlo": {"lines": text.count("\n") + 1, "bytes": len(text)},
        "optimized_hlo": {"lines": None, "bytes": None},
        **{
            kind: {"lines": None, "bytes": None}
            for kind in m.StageKind
            if kind.on_request and "cpu" in (kind.platforms or ("cpu",))
        },
    }


def test_the_figures_of_instructions_go_with_their_text(golden: m.Record) -> None:
    data = unpack(payload(golden, cap=20_000))
    assert "optimized_hlo" in data["programs"][0]["omitted"]
    assert "instructions" not in data["programs"][0]
    assert data["programs"][0]["lines"][0]["3"]["instructions"] == 6


def test_nothing_is_left_out_of_a_page(golden: m.Record) -> None:
    record = with_texts(golden, jaxpr=noise(400_000))
    data = unpack(payload(record, cap=None))
    assert m.from_json(m.Record, data["record"]) == record


def test_a_long_record_ends_early_and_says_so(golden: m.Record) -> None:
    value = golden.programs[0].inputs[0]
    many = tuple(dataclasses.replace(value, name=noise(300, i)) for i in range(3000))
    found = payload(with_program(golden, inputs=many))
    data = unpack(found)
    assert size(found) <= CAP
    assert any(
        note.startswith("Shortened to keep the notebook small") for note in data["record"]["notes"]
    )
    assert "2800 more rows left out here" in data["tabs"][-1]["sections"][0]["markup"]
    # Links and texts are worth more than a long table.
    assert len(data["record"]["programs"][0]["equations"]) == 53
    assert len(data["record"]["programs"][0]["stages"]) == len(m.StageKind)


@pytest.mark.parametrize("cap", [60_000, 12_000, 5000, 2500])
def test_whatever_is_shown_fits(cap: int) -> None:
    evils = evil()
    long = dataclasses.replace(
        evils,
        notes=(noise(1_000_000), *evils.notes),
        title=noise(100_000),
        programs=evils.programs * 50,
    )
    for record in (*RECORDS.values(), long):
        found = payload(record, cap=cap)
        assert size(found) <= cap or not unpack(found)["tabs"]
        assert unpack(found)["first"]


def test_fifty_megabytes_of_text_are_left_out_and_named(golden: m.Record) -> None:
    line = "  %add.1 = f32[8]{0} add(%a, %b)\n"
    text = "HloModule big\n" + line * (50_000_000 // len(line))
    found = payload(with_texts(golden, jaxpr="let a = b", optimized_hlo=text))
    omitted = unpack(found)["programs"][0]["omitted"]["optimized_hlo"]
    assert omitted == {"lines": text.count("\n"), "bytes": len(text)}
    assert size(found) < CAP


def test_foreign_text_is_data(golden: m.Record) -> None:
    found = payload(evil())
    data = unpack(found)
    assert EVIL in data["record"]["notes"]
    made = data["findings"] + "".join(s["markup"] for t in data["tabs"] for s in t["sections"])
    assert "<script" not in made
    assert "<img" not in made
    # What is packed is base64: nothing in it can end a script.
    assert "<" not in found["data"]


def test_numbers_that_json_does_not_know_become_null(golden: m.Record) -> None:
    odd = with_program(golden, cost=m.Cost(float("inf"), float("nan"), 1.0))
    assert unpack(payload(odd))["record"]["programs"][0]["cost"]["flops"] is None


def test_a_run_without_program_has_its_tabs(golden: m.Record) -> None:
    data = unpack(payload(plain(golden)))
    assert data["programs"] == []
    assert data["tabs"][0]["sections"][0]["program"] is None


def test_the_payload_file_is_small(golden: m.Record) -> None:
    assert size(payload(golden)) < 30_000


def test_a_large_program_keeps_its_figures_by_line_without_its_equations(golden: m.Record) -> None:
    program = golden.programs[0]
    spare = dataclasses.replace(program.equations[-1], frames=(), parent=None)
    first = len(program.equations)
    more = (dataclasses.replace(spare, id=i) for i in range(first, MOST_EQUATIONS + 1))
    data = unpack(payload(with_program(golden, equations=(*program.equations, *more))))
    assert data["record"]["programs"][0]["equations"] == []
    assert data["programs"][0]["lines"][0]["3"]["instructions"] == 6
    assert [s["kind"] for s in data["record"]["programs"][0]["stages"]] == list(m.StageKind)


def test_why_lines_have_no_time_is_said_above_them(golden: m.Record) -> None:
    doubtful = Profile("cpu:0", (), 0, (), (), unreliable="A call takes 20 µs.")
    program = dataclasses.replace(golden.programs[0], profile=doubtful)
    data = unpack(payload(dataclasses.replace(golden, programs=(program, program))))
    told = [note for note in data["record"]["notes"] if note.startswith("Lines have no times")]
    assert told == ["Lines have no times. A call takes 20 µs."]


def test_why_there_is_no_profile_is_said_above_the_texts(golden: m.Record) -> None:
    missing = m.Unavailable("another profiler session is open")
    program = dataclasses.replace(golden.programs[0], profile=missing)
    data = unpack(payload(dataclasses.replace(golden, programs=(program,))))
    assert "There is no profile: another profiler session is open." in data["record"]["notes"]


def test_a_profiled_cell_has_its_own_times_beside_its_lines(golden: m.Record) -> None:
    cell = CellProfile(
        0.2,
        (CellLine(0, 4, 0.15, 0.01, 3, eager=0),),
        0.03,
        0.0,
        3,
        eager=0,
        events=20,
        compile_s=0.0,
        eager_s=0.0,
    )
    data = unpack(payload(dataclasses.replace(golden, profile=cell)))
    assert data["programs"][0]["lines"][0]["4"]["time"]["share"] == 0.75


def test_a_profiled_cell_without_programs_has_its_times_and_no_empty_tabs(
    golden: m.Record,
) -> None:
    cell = CellProfile(
        0.2,
        (CellLine(0, 4, 0.15, 0.01, 3, eager=0),),
        0.03,
        0.0,
        3,
        eager=0,
        events=20,
        compile_s=0.0,
        eager_s=0.0,
    )
    record = plain(golden, form=m.Form.PROFILED)
    data = unpack(payload(dataclasses.replace(record, profile=cell)))
    assert {line: row["time"]["share"] for line, row in data["lines"].items()} == {"4": 0.75}
    assert [tab["key"] for tab in data["tabs"]] == ["profile", "details"]
    assert data["first"][1:3] == ["ran once in 200 ms", "75 % on line 4"]
    assert "lines" not in unpack(payload(record))


def test_why_there_is_no_program_travels_with_the_record(golden: m.Record) -> None:
    said = {
        form: unpack(payload(plain(golden, form=form)))["nothing"]
        for form in (m.Form.PLAIN, m.Form.BLOCK, m.Form.PROFILED)
    }
    assert "could not trace this cell" in said[m.Form.PLAIN]
    assert said[m.Form.BLOCK].startswith("Nothing was compiled in this run")
    assert "ran as plain Python" in said[m.Form.PROFILED]
    assert "nothing" not in unpack(payload(golden))
