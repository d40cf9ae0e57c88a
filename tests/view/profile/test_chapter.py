"""A profile in words and pictures, from hand-made data."""

from __future__ import annotations

import dataclasses
import re

import pytest

from jaxscope.model import Phase, Record, Source, SourceKind, Unavailable, Value, ValueKind
from jaxscope.model.gradient import Checkpoint, Gradient, Residual, ResidualKind
from jaxscope.model.profile import (
    BufferTimeline,
    CellLine,
    CellProfile,
    HeapStep,
    JointTime,
    LineTime,
    LiveBuffer,
    MergedLine,
    OpTime,
    Profile,
    SessionTimes,
    SourceLine,
)
from jaxscope.model.program import TRANSFORM
from jaxscope.view.base.document import Beside
from jaxscope.view.base.visible import excerpt
from jaxscope.view.bundle.tabs import tabs
from jaxscope.view.chapters import memory
from jaxscope.view.profile import cell as profile_cell
from jaxscope.view.profile import chapter as profile
from jaxscope.view.profile import heat
from jaxscope.view.report import chapters
from tests.view.conftest import as_html, tabs_html, text, with_program

FOUR = SourceLine(0, 4, Phase.FORWARD)
FIVE = SourceLine(0, 5, Phase.PRIMAL)
SIX = SourceLine(0, 6, Phase.PRIMAL)
SESSION = SessionTimes((10e-3, 10e-3), (9e-3, 9e-3))
PROFILE = Profile(
    "cpu:0",
    (SESSION, SESSION),
    3,
    (OpTime("dot.1", "dot", 6e-3, 7e-3, 1), OpTime("fused", "fusion", 3e-3, 3e-3, 1)),
    (
        LineTime(FOUR, 6e-3, 6e-3, 6e-3, 0.0, range_s=(5e-3, 7e-3), ops=("dot.1",)),
        LineTime(FIVE, 2e-3, 0.0, 3e-3, 0.0, range_s=(2e-3, 2e-3), ops=("fused",)),
        LineTime(SIX, 1e-3, 0.0, 3e-3, 0.0, range_s=(1e-3, 1e-3), ops=("fused",)),
    ),
    joint=(JointTime((FIVE, SIX), 3e-3, ("fused",)),),
    merged=(MergedLine(SourceLine(0, 8, Phase.PRIMAL), ("exp",), (9,)),),
    covered_s=9e-3,
    dispatch_s=0.5e-3,
    completion_s=0.5e-3,
    weights="a model",
)


def with_profile(record: Record, found: Profile | Unavailable, **more: object) -> Record:
    return with_program(record, profile=found, **more)


def test_the_first_sentence_names_the_line(golden: Record) -> None:
    record = with_profile(golden, PROFILE)
    chapter = profile.chapter(record, record.programs[0])
    assert chapter is not None
    assert chapter.lead[0].startswith("Line 4 takes 6 ms (60 %) of a 10 ms call: `")
    (quality,) = (
        part.table.rows
        for part in chapter.parts
        if part.table and part.table.rows[0][0] == "Coverage"
    )
    # What qualifies the figures follows them: the flame graph has the room above.
    assert {label for label, _ in quality[3:]} == {"Note"}
    assert quality[3][1] == "Lines 5 and 6 are fused together: 3 ms (30 %)."
    assert len(chapter.lead) == 1
    assert quality[:3] == (
        ("Coverage", "90 % of the call in instructions, dispatch 500 µs"),
        ("Attribution", "33 % in multi-line fusions"),
        ("Quality", "4 calls in 2 profiler sessions (10 ms … 10 ms), profiled ÷ unprofiled 1.11"),
    )


def test_what_is_measured_together_comes_before_the_estimates(golden: Record) -> None:
    record = with_profile(golden, PROFILE)
    words = text(record, 200, full=True)
    assert "Lines 5 and 6 are fused together: 3 ms (30 %)." in words
    assert "Line 8 (exp) has no instruction of its own: XLA merged it into line 9." in words
    assert "≈2 ms" in words
    assert "0 s … 3 ms" in words
    assert "--isolate-lines measures each line" in words


def test_tables_of_time_and_memory_lead_to_their_lines(golden: Record) -> None:
    record = with_profile(golden, PROFILE, buffers=PLAN)
    markup = {tab["key"]: "".join(s["markup"] for s in tab["sections"]) for tab in tabs(record)}
    assert '<a href="#" data-source="0" data-line="4">' in markup["profile"]
    assert '<a href="#" data-source="0" data-line="5">' in markup["profile"]
    places = {(row.place.source, row.place.line) for row in PLAN.alive if row.place}
    for source, line in places:
        assert f'data-source="{source}" data-line="{line}"' in markup["details"]


def test_a_row_of_another_source_leads_there(golden: Record) -> None:
    there = LineTime(SourceLine(1, 2, Phase.PRIMAL), 6e-3, 6e-3, 6e-3)
    record = with_profile(golden, dataclasses.replace(PROFILE, lines=(there,)))
    (tab,) = (tab for tab in tabs(record) if tab["key"] == "profile")
    assert '<a href="#" data-source="1" data-line="2">' in tab["sections"][0]["markup"]


def test_the_longest_line_of_a_module_is_said_beside_the_line_that_calls_it(
    golden: Record,
) -> None:
    other = Source("model.py", "/model.py", SourceKind.MODULE, "a\nh = x @ w\nc\n")
    there = LineTime(SourceLine(1, 2, Phase.PRIMAL), 6e-3, 6e-3, 6e-3)
    rare = LineTime(SourceLine(1, 3, Phase.PRIMAL), 0.1e-3, 0.1e-3, 0.1e-3)
    record = dataclasses.replace(golden, sources=(golden.sources[0], other))
    said = "Most time in model.py is on line 2: 6 ms (60 %): `h = x @ w`"
    for more, expected in (((there, rare), True), ((rare,), False)):
        found = dataclasses.replace(PROFILE, lines=(*PROFILE.lines, *more))
        record = with_profile(record, found)
        chapter = profile.chapter(record, record.programs[0])
        assert chapter is not None
        assert (said in chapter.lead[1:]) is expected


def test_the_source_with_the_longest_line_comes_first_wherever_it_is(golden: Record) -> None:
    """A model's class in one cell, and the step that spends most of the time in another."""
    model = LineTime(SourceLine(0, 4, Phase.PRIMAL), 1e-3, 1e-3, 1e-3)
    step = LineTime(SourceLine(1, 2, Phase.PRIMAL), 6e-3, 6e-3, 6e-3)
    other = Source("In [2]", "<cell 2>", SourceKind.CELL, "def step():\n    return x @ w\n")
    record = dataclasses.replace(golden, sources=(golden.sources[0], other))
    record = with_profile(record, dataclasses.replace(PROFILE, lines=(model, step), joint=()))
    made = profile.chapter(record, record.programs[0])
    assert made is not None
    assert made.lead[0].startswith("Line 2 of In [2] takes 6 ms (60 %)")
    shown = [part.caption for part in made.parts if part.of_source and part.brief]
    assert shown == ["In [2]: time of each line"]


def test_calls_of_a_cell_are_counted_without_the_first(golden: Record) -> None:
    alone = dataclasses.replace(PROFILE, sessions=(SessionTimes((10e-3,) * 4, ()),))
    words = " ".join(text(with_profile(golden, alone), 200).split())
    assert "4 calls in 1 profiler session, without the first" in words
    assert "left out" not in text(with_profile(golden, PROFILE), 200)


def test_a_line_that_is_folded_reads_as_that_and_not_as_free(golden: Record) -> None:
    record = with_profile(golden, PROFILE)
    row = next(line for line in text(record, 120).splitlines() if " 8 │" in line and "in 9" in line)
    assert "0 s" not in row


def test_fusion_of_most_of_the_program_is_the_first_sentence(golden: Record) -> None:
    joint = JointTime((FOUR, FIVE, SIX), 8e-3, ("fused",))
    record = with_profile(golden, dataclasses.replace(PROFILE, joint=(joint,)))
    chapter = profile.chapter(record, record.programs[0])
    assert chapter is not None
    assert chapter.lead[0] == "Lines 4 to 6 are fused together: 8 ms (80 %) of a 10 ms call."
    assert not any("fused together: 8 ms" in sentence for sentence in chapter.lead[1:])


def test_the_code_has_the_bracket_beside_each_estimate(golden: Record) -> None:
    words = text(with_profile(golden, PROFILE), 120)
    assert "Lines, the longest first, from 4 calls" in text(
        with_profile(golden, PROFILE), 120, full=True
    )
    estimated = next(line for line in words.splitlines() if " 5 │" in line and "≈2 ms" in line)
    assert "≈2 ms  0 s … 3 ms   20 %" in estimated
    measured = next(line for line in words.splitlines() if " 4 │" in line and "6 ms" in line)
    assert "…" not in measured.partition("│")[0]


def test_what_cannot_be_trusted_has_a_sentence_and_no_lines(golden: Record) -> None:
    doubtful = dataclasses.replace(PROFILE, unreliable="A call takes 20 µs.")
    words = text(with_profile(golden, doubtful), 120, full=True)
    assert "A call takes 20 µs." in words
    assert "Lines, the longest first" not in words
    assert "Instructions, the longest first" in words


def test_of_several_programs_the_profiled_one_is_named(golden: Record) -> None:
    doubtful = dataclasses.replace(PROFILE, unreliable="A call takes 20 µs.")
    for found, said in (
        (PROFILE, "Line 4 takes 6 ms (60 %) of a 10 ms call of {}: `"),
        (doubtful, "{}: a call takes 20 µs."),
    ):
        record = with_profile(golden, found)
        record = dataclasses.replace(record, programs=(*record.programs[:1], *golden.programs[:1]))
        program = record.programs[0]
        chapter = profile.chapter(record, program)
        assert chapter is not None
        assert chapter.lead[0].startswith(said.format(program.title))


def test_without_a_line_the_first_sentence_names_the_instruction(golden: Record) -> None:
    found = dataclasses.replace(PROFILE, lines=(), joint=(), merged=(), unattributed_s=9e-3)
    record = dataclasses.replace(with_profile(golden, found), sources=())
    chapter = profile.chapter(record, record.programs[0])
    assert chapter is not None
    assert chapter.lead[0] == (
        "Instruction dot.1 takes 6 ms (60 %) of a 10 ms call, attributed to no line of yours."
    )


def test_what_could_not_be_had_is_said(golden: Record) -> None:
    record = with_profile(golden, Unavailable("another profiler session is open"))
    assert "There is no profile: another profiler session is open." in text(record, 120)


def test_isolated_lines_say_what_fusion_saves(golden: Record) -> None:
    slower = SessionTimes((13e-3,), (12e-3,))
    apart = dataclasses.replace(PROFILE, sessions=(slower,), joint=())
    words = text(with_profile(golden, PROFILE, isolated=apart), 200, full=True)
    assert (
        "With isolated lines the program takes 1.33 times as long (12 ms): fusion between lines "
        "saves 3 ms."
    ) in words
    assert "cost of each line if lines were not fused" in words
    assert "%jaxprof --isolate-lines" not in words
    faster = dataclasses.replace(apart, sessions=(SessionTimes((9e-3,), (8e-3,)),))
    words = text(with_profile(golden, PROFILE, isolated=faster), 200)
    assert "takes no longer (8 ms): fusion between lines saves nothing." in words
    refused = with_profile(golden, PROFILE, isolated=Unavailable("XLA says no"))
    assert "Lines were not isolated: XLA says no." in text(refused, 200)


def test_the_code_is_data_in_the_page(golden: Record) -> None:
    source = dataclasses.replace(golden.sources[0], text="a\nb\nc\n<script>alert(1)</script>\n")
    record = with_profile(dataclasses.replace(golden, sources=(source,)), PROFILE)
    written = tabs_html(record)
    assert 'id="tab-profile"' in written
    assert "<script>" not in written
    assert "style=" not in written


def test_code_that_is_cut_says_so() -> None:
    assert excerpt("    y = 1 ") == "y = 1"
    assert excerpt("x" * 81) == "x" * 79 + "…"
    assert excerpt("x" * 80) == "x" * 80


def test_a_bar_is_as_long_as_its_share() -> None:
    rows = {2: Beside(("1 ms",), 0.5), 3: Beside(("1 µs",), 0.0001)}
    html, drawing = heat.heat("x\ny\nz\n", rows, ("time",))
    assert re.findall(r'<rect width="([^"]*)"', html) == ["50", "0.01"]
    assert drawing[2].startswith("1 ms  █████      2 │ y")
    assert "▏" in drawing[3]


def test_without_bars_their_column_is_left_to_the_code() -> None:
    rows = {1: Beside(("1 ms",), 0.0), 40: Beside(("2 ms",), 0.0)}
    html, drawing = heat.heat("x\n" * 40, rows, ("time",))
    assert "<svg" not in html
    assert html.count("<th>") == 2
    assert html.count("colspan=2>") == 1
    assert drawing[1] == "1 ms    1 │ x"
    assert drawing[4].index("⋮") == drawing[1].index("│")


def test_of_a_long_source_the_lines_near_those_with_figures_are_shown() -> None:
    rows = {70: Beside(("1 ms",), 1.0), 99: Beside(("2 ms",), 1.0)}
    html, drawing = heat.heat("\n".join("x" * 3 for _ in range(100)), rows, ("",))
    shown = [int(line.split("│")[0].split()[-1]) for line in drawing if "│" in line]
    assert shown == [*range(68, 73), *range(97, 101)]
    left_out = ["⋮ 67 lines not shown", "⋮ 24 lines not shown"]
    assert [line.strip() for line in drawing if "│" not in line] == left_out
    assert re.findall("⋮[^<]*", html) == left_out
    assert drawing[0].index("⋮") == drawing[1].index("│")


def test_of_a_short_source_every_line_is_shown() -> None:
    _, drawing = heat.heat("\n" * 29, {3: Beside(("1 ms",), 1.0)}, ("",))
    assert len(drawing) == 29


PLAN = BufferTimeline(
    1000,
    3000,
    (
        HeapStep("dot.1", 1000),
        HeapStep("tanh.1", 3000),
        HeapStep("dot.1", 2000),
        HeapStep("tanh.1", 0),
    ),
    "tanh.1",
    (LiveBuffer("tanh.1", 2000, FIVE), LiveBuffer("dot.1", 1000, None)),
)


def test_memory_names_the_line_that_made_most(golden: Record) -> None:
    record = with_profile(golden, PROFILE, buffers=PLAN)
    chapter = memory.chapter(record, record.programs[0])
    assert chapter is not None
    assert chapter.lead[0].startswith("The peak is 4 kB: 1 kB of arguments, results and constants")
    assert chapter.lead[1] == (
        "Most temporaries are alive at `tanh.1`: 3 kB, 67 % of it from line 5."
    )
    drawing = chapter.parts[0].drawing
    assert drawing[0] == " █"
    assert drawing[-1] == "────"
    assert "unattributed" in as_html(chapter)


def test_memory_names_the_source_of_a_line_that_is_not_of_the_first(golden: Record) -> None:
    other = Source("model.py", "/model.py", SourceKind.MODULE, "a\nb\nc\n")
    elsewhere = SourceLine(1, 3, Phase.PRIMAL)
    plan = dataclasses.replace(PLAN, alive=(LiveBuffer("tanh.1", 2000, elsewhere),))
    record = with_profile(golden, PROFILE, buffers=plan)
    record = dataclasses.replace(record, sources=(golden.sources[0], other))
    chapter = memory.chapter(record, record.programs[0])
    assert chapter is not None
    assert chapter.lead[1].endswith("of it from model.py:3.")
    (largest,) = (part.table for part in chapter.parts if "largest" in (part.caption or ""))
    assert largest is not None
    assert largest.rows[0][2] == "model.py:3"


def test_memory_names_the_line_of_a_module_that_made_most(golden: Record) -> None:
    other = Source("model.py", "/model.py", SourceKind.MODULE, "a\nb\nh = x @ w\n")
    there = SourceLine(1, 3, Phase.FORWARD)
    plan = dataclasses.replace(
        PLAN, alive=(LiveBuffer("tanh.1", 2000, FIVE, there), LiveBuffer("dot.1", 1000, FIVE))
    )
    record = with_profile(golden, PROFILE, buffers=plan)
    record = dataclasses.replace(record, sources=(golden.sources[0], other))
    chapter = memory.chapter(record, record.programs[0])
    assert chapter is not None
    assert chapter.lead[1].endswith("3 kB, 100 % of it from line 5.")
    assert chapter.lead[2] == (
        "In called code, model.py:3 allocates most: 2 kB (67 %): `h = x @ w`"
    )
    tables = {part.caption: part.table for part in chapter.parts if part.table}
    called = tables["Alive at the peak, by line of called code"]
    assert [row[:2] for row in called.rows] == [("model.py:3", "2 kB")]
    largest = tables["Alive at the peak, the largest first"]
    assert [row[2] for row in largest.rows] == ["model.py:3", "5"]


@pytest.mark.parametrize("plan", [dataclasses.replace(PLAN, steps=(), alive=(), temp=0)])
def test_a_program_without_temporaries_says_so(golden: Record, plan: BufferTimeline) -> None:
    assert "There are no temporaries." in text(with_profile(golden, PROFILE, buffers=plan), 120)


def test_a_missing_plan_says_why(golden: Record) -> None:
    record = with_profile(golden, PROFILE, buffers=Unavailable("jaxlib 0.8 writes none"))
    assert "Memory by line is unavailable: jaxlib 0.8 writes none." in text(record, 120)


def test_a_profiled_cell_shows_its_lines_and_no_second_source(golden: Record) -> None:
    found = CellProfile(
        0.2,
        (CellLine(0, 4, 0.15, 0.01, 3, eager=0), CellLine(0, 5, 0.05, 0.02, 4, eager=4)),
        0.03,
        0.0,
        7,
        eager=4,
        events=20,
        compile_s=0.1,
        eager_s=0.02,
        warnings=("50 % of the cell was compilation. Run it again for its warm time.",),
    )
    record = dataclasses.replace(golden, profile=found, programs=(), findings=())
    chapter = profile_cell.chapter(record)
    assert chapter is not None
    assert chapter.lead[0].startswith("Python spent 150 ms of 200 ms on line 4 (75 %): `")
    words = text(record, 120)
    assert "ran once in 200 ms · 75 % on line 4 · 15 % in instructions" in words
    assert "7 program runs, 4 eager operations (20 ms)" in words
    assert "3 runs" in words
    assert words.count("h = jnp.tanh") == 1
    assert 'id="tab-profile"' in tabs_html(record)


def test_a_cell_that_mostly_compiled_says_so_and_draws_no_bars(golden: Record) -> None:
    lines = (
        CellLine(0, 4, 26.4, 0.01, 3, eager=3, compile_s=26.3),
        CellLine(0, 5, 0.1, 0.0, 0, eager=0),
    )
    found = CellProfile(26.5, lines, 0.03, 0.0, 3, eager=3, events=20, compile_s=26.3, eager_s=0.02)
    record = dataclasses.replace(golden, profile=found, programs=(), findings=())
    headline = "26.3 s of 26.5 s was compilation; run the cell again for its warm time"
    chapter = profile_cell.chapter(record)
    assert chapter is not None
    assert chapter.lead[0] == f"{headline}."
    assert chapter.lead[1].startswith("The cell ran eagerly: 3 operations outside any jit. ")
    assert "`%%jaxjit --profile`" in chapter.lead[1]
    page = text(record, 120)
    assert f"ran once in 26.5 s · {headline}" in page
    assert re.search(r"compilation +Python +in instructions", page)
    assert re.search(r"26\.3 s +100 ms", page)
    assert "█" not in page
    # With a program of the user's it is not eager; a warm run has its line and its bars.
    with_program = profile_cell.chapter(dataclasses.replace(golden, profile=found))
    assert with_program is not None
    assert "eagerly" not in " ".join(with_program.lead)
    ended = dataclasses.replace(record, profile=dataclasses.replace(found, ended_by="TypeError"))
    assert "eagerly" not in text(ended, 120)
    warm = dataclasses.replace(record, profile=dataclasses.replace(found, compile_s=0.1))
    assert headline not in text(warm, 120)
    assert "█" in text(warm, 120)


def test_a_program_that_ran_in_a_profiled_cell_is_not_said_never_to_have_run(
    golden: Record,
) -> None:
    record = with_profile(golden, PROFILE, timings=())
    html = as_html(chapters.time(record, record.programs[0]))
    assert "not timed separately" in html
    assert "not run" not in html
    bare = with_program(golden, timings=())
    assert "not run" in as_html(chapters.time(bare, bare.programs[0]))


def test_a_cell_that_ran_no_program_waited_for_none(golden: Record) -> None:
    line = CellLine(0, 4, 6e-6, 0.0, 0, eager=0)
    found = CellProfile(
        48e-6, (line,), 0.0, 0.0, 0, eager=0, events=0, compile_s=0.0, eager_s=0.0, waited_s=41e-6
    )
    # With 2 µs of work, nearly all of the wait is the look at the arrays.
    for runs, covered_s, said in ((0, 0.0, False), (1, 40e-6, True), (1, 2e-6, False)):
        cell = dataclasses.replace(found, runs=runs, covered_s=covered_s)
        chapter = profile_cell.chapter(dataclasses.replace(golden, profile=cell))
        assert chapter is not None
        assert any("passed after its last line" in words for words in chapter.lead) is said


def test_where_a_cell_mostly_waits_at_its_end_the_line_that_asked_for_most_comes_first(
    golden: Record,
) -> None:
    lines = (CellLine(0, 4, 8e-3, 20e-3, 1, eager=0), CellLine(0, 5, 4e-3, 100e-3, 1, eager=0))
    found = CellProfile(
        0.135, lines, 0.12, 0.0, 2, eager=0, events=0, compile_s=0.0, eager_s=0.0, waited_s=0.12
    )
    record = dataclasses.replace(golden, profile=found, programs=(), findings=())
    chapter = profile_cell.chapter(record)
    assert chapter is not None
    assert chapter.lead[0].startswith(
        "Line 5 dispatched 100 ms of work in a cell of 135 ms (74 %): `"
    )
    assert chapter.lead[0].endswith("` (Python spent 4 ms on it)")
    assert "ran once in 135 ms · 74 % dispatched by line 5 · " in text(record, 120)


@pytest.mark.parametrize("others_s", [60e-3, 40e-3])
def test_a_line_that_waits_for_the_work_of_others_is_not_the_one_to_blame(
    golden: Record, others_s: float
) -> None:
    lines = (
        CellLine(0, 4, 8e-3, 80e-3, 1, eager=0),
        CellLine(0, 5, 90e-3, 0.0, 0, eager=0, others_s=others_s),
    )
    found = CellProfile(
        0.1, lines, 0.08, 0.0, 1, eager=0, events=0, compile_s=0.0, eager_s=0.0, waited_s=1e-3
    )
    record = dataclasses.replace(golden, profile=found, programs=(), findings=())
    chapter = profile_cell.chapter(record)
    assert chapter is not None
    if others_s > 45e-3:
        assert chapter.lead[0].startswith("Line 4 dispatched 80 ms of work in a cell of 100 ms")
        assert chapter.lead[1] == (
            "Python was on line 5 for 90 ms. Work of other lines was unfinished for 60 ms of it: "
            "JAX dispatches asynchronously, and a line that reads a result waits for it."
        )
        assert "ran once in 100 ms · 80 % dispatched by line 4 · " in text(record, 120)
    else:
        assert chapter.lead[0].startswith("Python spent 90 ms of 100 ms on line 5 (90 %): ")
        assert not any("asynchronously" in sentence for sentence in chapter.lead)
        assert "ran once in 100 ms · 90 % on line 5 · " in text(record, 120)


def test_memory_that_is_set_aside_and_never_used_at_once_is_said(golden: Record) -> None:
    plan = dataclasses.replace(PLAN, temp=9000)
    record = with_profile(golden, PROFILE, buffers=plan)
    chapter = memory.chapter(record, record.programs[0])
    assert chapter is not None
    assert chapter.lead[1].endswith(" XLA reserves 6 kB more than are alive at once.")


def test_what_donation_and_checkpoints_would_change_has_lines_and_the_peak_then(
    golden: Record,
) -> None:
    replaced = Value("w1", ValueKind.TRACED, "float32[9]", 1000, "cpu:0")
    record = with_profile(golden, PROFILE, buffers=PLAN)
    gradient = Gradient(
        (Residual("f32[9]", 2500, ResidualKind.OUTPUT, "tanh", 0, used_by=1),),
        10.0,
        20.0,
        0.0,
        (
            Checkpoint(
                "loss.<locals>.layer", 0, 5, 6, 3.0, freed_bytes=2000, saved_bytes=0, flops=7.0
            ),
        ),
    )
    program = dataclasses.replace(
        record.programs[0],
        inputs=(replaced,),
        outputs=(dataclasses.replace(replaced, name="Out"),),
        gradient=gradient,
    )
    chapter = memory.chapter(record, program)
    assert chapter is not None
    assert chapter.lead[2].startswith(
        "Donating `w1` would lower the peak by at most 1 kB (25 %), if not read"
    )
    assert chapter.lead[3].startswith(
        "`jax.checkpoint` on `layer` would lower the peak by an estimated 2 kB"
    )
    made = memory.chapter(record, dataclasses.replace(program, transforms=("jit", TRANSFORM)))
    assert made is not None
    assert "Donating" not in str(made.lead)  # what a transform makes has no arguments to donate
    tables = {part.caption: part.table for part in chapter.parts if part.table is not None}
    given = tables["Largest effect of donation"]
    assert given.rows[0][:3] == ("`w1`", "1 kB", "3 kB")
    effect = tables["Estimated effect of a checkpoint"]
    row = dict(zip(effect.heads, effect.rows[0], strict=True))
    assert (row["function"], row["frees"], row["peak after"]) == ("`layer`", "2 kB", "2 kB")
    saved = tables["Saved residuals, by the line that makes them"]
    assert saved.rows[0][2] == "2.5 kB"
