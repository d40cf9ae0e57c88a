"""Tables of the golden report: every row and figure against the record itself."""

from __future__ import annotations

import dataclasses
import json

from jaxscope import model as m
from jaxscope.analysis import report_tables
from jaxscope.model.compile_log import Log, Storm
from tests.paths import TESTS

GOLDEN = TESTS / "data" / "report" / "report.json"
RECORD = m.from_json(m.Record, json.loads(GOLDEN.read_text("utf-8")))
PROGRAM = RECORD.programs[0]
NOTHING = dataclasses.replace(RECORD, programs=(), compiles=())


def rows(table: tuple[tuple[str, ...], tuple[tuple[object, ...], ...]]) -> list[dict[str, object]]:
    columns, found = table
    return [dict(zip(columns, row, strict=True)) for row in found]


def test_lines_has_a_row_for_every_nonblank_line() -> None:
    found = rows(report_tables.lines(RECORD))
    assert [(row["source"], row["text"]) for row in found] == [
        (source.name, text) for source in RECORD.sources for text in source.lines if text.strip()
    ]


def test_lines_of_the_cell_add_up_to_the_program() -> None:
    cell = [
        row for row in rows(report_tables.lines(RECORD)) if row["source"] == RECORD.sources[0].name
    ]
    assert isinstance(PROGRAM.cost, m.Cost)
    assert sum(row["flops"] for row in cell) == PROGRAM.cost.flops  # type: ignore[misc]
    assert sum(row["equations"] for row in cell) == len(PROGRAM.equations)  # type: ignore[misc]
    by_line = {row["line"]: row for row in cell}
    assert by_line[1]["equations"] == 0
    assert by_line[1]["flops"] == 0.0
    assert (by_line[1]["backward_instructions"], by_line[1]["backward_flops"]) == (0, 0.0)
    assert by_line[3]["flops"] == 2.0 * 256 * 64 * 128 + 256 * 128
    assert by_line[11]["exact"] is False


def test_lines_without_the_optimized_text_have_equations_only() -> None:
    bare = dataclasses.replace(RECORD, programs=(dataclasses.replace(PROGRAM, stages=()),))
    found = rows(report_tables.lines(bare))
    for name in ("instructions", "flops"):
        assert {row[f"{part}{name}"] for row in found for part in ("", "backward_")} == {None}
    assert sum(row["equations"] for row in found) > 0  # type: ignore[misc]


def test_operations_outside_fusions_add_up_to_the_program() -> None:
    found = [row for row in rows(report_tables.ops(RECORD)) if not row["fusion"]]
    assert isinstance(PROGRAM.cost, m.Cost)
    totals = {
        column: sum(row[column] * (row["times"] or 0) for row in found)  # type: ignore[operator]
        for column in ("flops", "bytes_accessed", "transcendentals")
    }
    assert totals["flops"] == PROGRAM.cost.flops
    assert totals["transcendentals"] == PROGRAM.cost.transcendentals
    # The tuple of the three results is no real instruction; XLA counts eight bytes for each.
    assert totals["bytes_accessed"] == PROGRAM.cost.bytes_accessed - 3 * 8


def test_operations_are_real_and_lead_to_their_lines() -> None:
    found = {row["name"]: row for row in rows(report_tables.ops(RECORD))}
    kinds = {row["opcode"] for row in found.values()}
    assert kinds.isdisjoint({"parameter", "constant", "tuple", "get-tuple-element", "bitcast"})
    fusion = found["multiply_add_fusion"]
    assert fusion["lines"] == (5, 7)
    inside = [row for row in found.values() if row["fusion"] == "multiply_add_fusion"]
    assert inside
    assert {line for row in inside for line in row["lines"]} == {5, 7}  # type: ignore[attr-defined]
    assert sum(row["flops"] for row in inside) == fusion["flops"]  # type: ignore[misc]


def test_ops_say_which_are_heuristic_matches() -> None:
    found = rows(report_tables.ops(RECORD))
    assert {row["exact"] for row in found} == {True, False}
    assert not any("eqn_" in str(row["op_name"]) for row in found)


def test_compiles_timings_and_values_repeat_the_record() -> None:
    compiles = rows(report_tables.compiles(RECORD))
    assert [row["function"] for row in compiles] == [c.fun_name for c in RECORD.compiles]
    assert [row["total_s"] for row in compiles] == [c.total_s for c in RECORD.compiles]
    sites = [c.site for c in RECORD.compiles]
    assert [row["file"] for row in compiles] == [site.file if site else "" for site in sites]
    assert [row["line"] for row in compiles] == [site and site.span.line for site in sites]
    timings = rows(report_tables.timings(RECORD))
    expected = [t for program in RECORD.programs for t in program.timings]
    assert [row["median_s"] for row in timings] == [t.median_s for t in expected]
    assert [row["samples"] for row in timings] == [len(t.samples) for t in expected]
    values = rows(report_tables.values(RECORD))
    assert [row["name"] for row in values if row["direction"] == "input"] == [
        v.name for program in RECORD.programs for v in program.inputs
    ]
    assert [row["bytes"] for row in values if row["direction"] == "output"] == [
        v.bytes for program in RECORD.programs for v in program.outputs
    ]


def test_a_timing_without_samples_has_no_median() -> None:
    timing = m.Timing("call", "cpu:0", ())
    program = dataclasses.replace(PROGRAM, timings=(timing,))
    found = rows(report_tables.timings(dataclasses.replace(RECORD, programs=(program,))))
    assert found[0]["median_s"] is None


def test_tables_of_a_run_that_compiled_nothing_are_empty_but_for_the_lines() -> None:
    for table in (
        report_tables.ops,
        report_tables.compiles,
        report_tables.timings,
        report_tables.values,
    ):
        columns, found = table(NOTHING)
        assert columns
        assert found == ()
    assert all(row["equations"] == 0 for row in rows(report_tables.lines(NOTHING)))


def test_a_compile_log_names_the_pattern_of_each_compilation_that_repeats() -> None:
    compiles = tuple(
        m.Compile("f", m.CompileKind.JIT, None, trace_s=0.1, lower_s=0.2, compile_s=0.3, serial=n)
        for n in (1, 2, 3)
    )
    storm = Storm((1, 3), "`x` grows by 1 each time", "Pad it.")
    found = rows(report_tables.compile_log(Log("", compiles, storms=(storm,))))
    assert [row["pattern"] for row in found] == [storm.pattern, "", storm.pattern]
