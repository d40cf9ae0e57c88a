"""The views of a compile log, from the golden log and from hand-built ones."""

from __future__ import annotations

import dataclasses
import json
import re
from html.parser import HTMLParser
from typing import Any

import jsonschema
import pytest

from jaxscope import words
from jaxscope.analysis.compiles import groups
from jaxscope.analysis.compiles.causes.no_difference import eager_op, first_call
from jaxscope.analysis.report_tables import compile_log
from jaxscope.model import Cause, CauseKind, Compile, CompileKind, Persistent, from_json, to_json
from jaxscope.model.compile_log import CompileEvent, Log, Storm
from jaxscope.model.schema import event_schema, log_schema
from jaxscope.results.compile_log import CompileLog
from jaxscope.view.base import terminal
from jaxscope.view.compiles.document import groups_document
from jaxscope.view.compiles.rows import (
    MOST_ROWS,
    LogGroup,
    first_line,
    fix,
    footer,
    plain_rows,
    rows,
    why,
)
from tests.view.compiles.compile_logs import HOME, builder, many


def held(log: Log) -> CompileLog:
    return CompileLog(lambda: log)


def text(log: Log, width: int | None = None, color: bool = False) -> str:
    return held(log).to_text(width=width, color=color)


def markdown(log: Log) -> str:
    return held(log).to_markdown()


def static_html(log: Log) -> str:
    return held(log).static_html()


@pytest.fixture
def golden() -> Log:
    return from_json(Log, json.loads((HOME / "log.json").read_text("utf-8")))


@pytest.mark.parametrize("schema", [log_schema, event_schema])
def test_the_schemas_of_the_log_are_valid(schema: Any) -> None:
    jsonschema.Draft202012Validator.check_schema(schema())


def test_the_golden_log_fits_its_schema_and_a_broken_one_does_not(golden: Log) -> None:
    data = to_json(golden)
    jsonschema.validate(data, log_schema())
    data["compiles"][0]["fun_name"] = 3
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(data, log_schema())


def test_the_first_line_says_how_many_how_long_and_which(golden: Log) -> None:
    assert first_line(golden) == (
        "22 compiles in 4.07 s (trace 0.46, lower 0.31, XLA 3.30) · 20 recompiles · 1 failed · "
        "slowest: step at In [3]:4, 1.8 s · 4 eager operations, 144 ms"
    )


def test_the_first_line_counts_no_recompile_of_an_eager_operation() -> None:
    changed = Cause(CauseKind.EAGER_SHAPE, "sizes", "(1,)", "(2,)", "It changed.", fix="Use one.")
    made = many(9)
    operations = tuple(
        [
            dataclasses.replace(one, kind=CompileKind.EAGER, causes=(changed,))
            for one in made.compiles
        ]
    )
    storm = Storm(tuple([one.serial for one in operations]), "`sizes` changes", "Use one.")
    log = dataclasses.replace(made, compiles=operations, storms=(storm,))
    assert len(log.recompiles) == 9
    assert "recompile" not in first_line(log)


def test_the_first_line_of_a_log_in_which_all_failed_says_just_that(golden: Log) -> None:
    failed = dataclasses.replace(golden, compiles=(), storms=())
    assert first_line(failed) == f"1 compile failed after {words.seconds(failed.total_s)}"


def test_a_comprehension_on_the_line_is_no_caller_of_it(golden: Log) -> None:
    first = golden.compiles[0]
    stack = (first.stack[0], first.stack[0], *first.stack[1:])
    made = (dataclasses.replace(first, stack=stack), *golden.compiles[1:])
    found = rows(dataclasses.replace(golden, compiles=made)).rows
    assert found[2].callers == ("In [5]:2",)


def test_a_storm_is_one_row_and_a_recompile_its_own(golden: Log) -> None:
    found = rows(golden).rows
    assert [(row.group.name, row.place, row.what, row.times, row.failed) for row in found] == [
        ("AGAIN", "In [3]:4", "step", "", False),
        ("AGAIN", "In [5]:7", "<lambda>", "× 20", False),
        ("FIRST", "In [3]:4", "step", "", False),
        ("FIRST", "In [5]:2", "loss", "", True),
        ("EAGER", "In [5]", "eager operations", "× 4", False),
    ]
    assert [row.again for row in found] == [True, True, False, False, False]
    assert found[0].fix.startswith("Pad `batch`")
    assert found[1].why == "a new `<lambda>` each time"
    assert found[2].why == "first call with state: 8 leaves, 1.2 MB, batch: f32[128,784]"
    assert found[2].callers == ("In [5]:2",)
    assert found[4].why == "4 compilations (_mean, subtract, _std and true_divide)"
    assert sum(row.seconds for row in found) == pytest.approx(golden.total_s)


def test_a_function_that_may_have_compiled_before_is_not_called_new(golden: Log) -> None:
    first = golden.compiles[0]
    for cause in (first_call("step", since="10:02:03"), eager_op("step", since="10:02:03")):
        assert "since jaxscope started listening at 10:02:03" in cause.text
        for told in (cause, dataclasses.replace(cause, text="In other words.")):
            made = dataclasses.replace(first, causes=(told,))
            assert why(made).startswith("first compilation since 10:02:03 with state: 8 leaves")
    assert why(first).startswith("first call with state")


def test_long_arguments_end_with_a_whole_one(golden: Log) -> None:
    arguments = tuple([f"x{n}: f32[4096,1024]" for n in range(5)])
    made = dataclasses.replace(golden.compiles[0], signature=arguments)
    shown = ", ".join(arguments[:3])
    assert why(made) == f"first call with {shown} and 2 more arguments"
    alone = dataclasses.replace(golden.compiles[0], signature=("x" * 80,))
    assert why(alone) == f"first call with {'x' * 59}…"


def test_the_text(golden: Log) -> None:
    lines = text(golden, width=100).splitlines()
    assert all(len(line) <= 100 for line in lines)
    assert lines[0].startswith("22 compiles in 4.07 s")
    assert any(
        re.fullmatch(r"  In \[5\]:7 +<lambda> × 20 +560 ms  a new <lambda> each time", line)
        for line in lines
    )
    assert any("→ Pad batch to a few fixed sizes" in line for line in lines)
    assert "\x1b[" not in text(golden, width=100)
    assert "\x1b[1m" in text(golden, width=100, color=True)
    assert all(len(line) <= 40 for line in text(golden, width=40).splitlines())


def test_the_groups(golden: Log) -> None:
    made = groups_document(golden, groups.by_function(golden), "function")
    text = terminal.text(made, width=110)
    assert re.search(r"step +2 +1 +390 ms +210 ms +2\.9 s +3\.5 s", text)
    assert re.search(r"<lambda> +20 +19 ", text)
    assert [group.title for group in groups.by_line(golden)] == [
        "In [3]:4",
        "In [5]:7",
        "data.py:12",
    ]
    assert [(g.title, g.count) for g in groups.by_cell(golden)] == [("In [5]", 26)]


class Reader(HTMLParser):
    """Tags, ids, links and words of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.tags.append(tag)
        self.ids |= {found["id"] or ""} if "id" in found else set()
        self.links += [found["href"] or ""] if "href" in found else []

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def read(html: str) -> Reader:
    reader = Reader()
    reader.feed(html)
    return reader


def test_the_html_is_static_and_its_links_lead_somewhere(golden: Log) -> None:
    page = read(static_html(golden))
    assert "script" not in page.tags
    assert page.tags.count("svg") == 5
    assert page.links == []
    text = " ".join(page.words)
    called = "called from In [5]:2"
    for part in ("In [3]:4", "× 20", "again", "failed: TracerBoolConversionError", "Pad", called):
        assert part in text
    assert "trace 200 ms, lower 100 ms, XLA 1.5 s" in static_html(golden)


def test_foreign_text_is_no_markup(golden: Log) -> None:
    nasty = "<img src=x onerror=alert(1)>"
    sources = tuple(
        dataclasses.replace(o, name=nasty, lines=tuple((n, nasty) for n, _ in o.lines))
        for o in golden.sources
    )
    made = tuple(dataclasses.replace(c, fun_name=nasty) for c in golden.compiles)
    hostile = dataclasses.replace(golden, sources=sources, compiles=made, notes=(nasty,))
    assert "img" not in read(static_html(hostile)).tags
    assert re.search(r"(?<![\\`])<img", markdown(hostile)) is None


def test_words_stand_to_the_left_also_where_style_is_stripped(golden: Log) -> None:
    page = static_html(golden)
    cells = re.findall(r"<t[dh][^>]*><div align=left>", page)
    # All but the time, in the tables that have lines below their words.
    below = [row for row in rows(golden).rows if row.group is not LogGroup.EAGER]
    assert len(cells) == 4 * len(below)


def test_the_markdown(golden: Log) -> None:
    lines = markdown(golden).splitlines()
    assert lines[0].startswith("**22 compiles in 4.07 s")
    titles = [line.lstrip("# ") for line in lines if line.startswith("#")]
    assert titles == ["Recompiled functions", "First compilations", "Eager operations"]
    table = [line for line in lines if line.startswith("|")]
    assert table[0] == "| where | what | time | reason and fix |"
    assert "<br>→ Pad `batch` to a few fixed sizes" in table[2]
    assert table[6].startswith(r"| In \[3\]:4 | `step` | 1.8 s | first call with state")
    assert lines[-1] == "jaxscope 0.1.0, jax 0.10.2, python 3.11.7"
    assert {line.count("|") for line in table} == {5}


def test_the_footer_names_the_worst_recompile(golden: Log) -> None:
    head, rest, second, third, *more = footer(golden).splitlines()
    assert f"{head} {rest.strip()}" == f"jaxscope: {first_line(golden)}"
    assert second.startswith("  step at In [3]:4: The shape of batch changed")
    assert third.startswith("  → Pad batch")
    assert all(len(line) <= 88 for line in (head, rest, second, third, *more))
    once = dataclasses.replace(golden, compiles=golden.compiles[:1], storms=(), failed=())
    assert len(footer(once).splitlines()) == 1


def test_a_message_lists_rows_with_line_and_fix(golden: Log) -> None:
    lines = plain_rows(golden, 8)
    assert lines[0].startswith("  1. step at In [3]:4, 1.8 s: first call with")
    assert "       state = step(state, batch)" in lines
    assert any(line.startswith("     → Pad `batch`") for line in lines)


def test_of_many_rows_the_slowest_are_shown_in_order() -> None:
    found = rows(many(100))
    assert len(found.rows) == MOST_ROWS
    assert [row.what for row in found.rows] == [f"f{n}" for n in range(71, 101)]
    assert found.left_out.startswith("70 faster rows (")
    assert "70 faster rows" in text(many(100), width=100)
    assert "70 faster rows" in static_html(many(100))


def test_a_log_of_ten_thousand_compiles_stays_small_and_quick_to_draw() -> None:
    log = many(10_000)
    assert len(static_html(log).encode()) < 60_000
    assert len(text(log, width=100).splitlines()) < 2 * MOST_ROWS + 10


def test_an_empty_log_says_so_everywhere() -> None:
    empty = Log("", ())
    assert first_line(empty) == "Nothing was compiled."
    assert text(empty) == "Nothing was compiled.\n"
    assert markdown(empty) == "**Nothing was compiled.**\n"
    assert "Nothing was compiled." in static_html(empty)
    assert compile_log(empty)[1] == ()
    assert footer(empty) == "jaxscope: Nothing was compiled."


def test_first_uses_of_single_operations_are_together() -> None:
    base = builder().log().compiles[2]
    made = [
        dataclasses.replace(
            base,
            serial=n,
            site=dataclasses.replace(base.site, span=base.site.span._replace(line=n)),
        )
        for n in (1, 2)
    ]
    log = dataclasses.replace(builder().log(), compiles=tuple(made), storms=(), failed=())
    (row,) = rows(log).rows
    assert (row.place, row.times) == ("In [5]", "× 2")
    assert row.why == "2 compilations (_mean)"


def test_a_cause_that_nobody_knows_is_called_so() -> None:
    lost = Compile(
        "f",
        CompileKind.JIT,
        None,
        trace_s=0.1,
        lower_s=0.1,
        compile_s=0.1,
        signature=("x: f32[3]",),
    )
    assert why(lost) == "cause unknown, with x: f32[3]"
    assert rows(Log("", (lost,))).rows[0].place == ""


def test_causes_alike_have_one_fix_and_many_are_counted(golden: Log) -> None:
    recompile = golden.compiles[1]
    (shape,) = recompile.causes
    alike = [dataclasses.replace(shape, path=name, text=f"`{name}`.") for name in "abcdef"]
    made = dataclasses.replace(recompile, causes=tuple(alike))
    assert why(made) == "`a`. `b`. `c`. `d`. And 2 more differences."
    assert fix(made) == shape.fix


def test_what_the_persistent_cache_did_stands_under_the_reason(golden: Log) -> None:
    hit = dataclasses.replace(golden.compiles[0], persistent=Persistent.HIT)
    quick = dataclasses.replace(
        golden.compiles[1],
        persistent=Persistent.NOT_WRITTEN,
        persistent_why="Not stored: compiling took less than 1 s.",
    )
    log = dataclasses.replace(golden, compiles=(hit, quick), storms=(), failed=())
    assert [row.persistent_cache for row in rows(log).rows] == [
        "Not stored: compiling took less than 1 s.",
        "From the persistent cache.",
    ]
    assert "1 from the persistent cache" in first_line(log)
    for told in (text(log, width=120), static_html(log), markdown(log)):
        assert "From the persistent cache." in told
        assert "Not stored: compiling took less than 1 s." in told
    assert {row.persistent_cache for row in rows(golden).rows} == {""}


def test_what_the_causes_say_the_persistent_cache_does_not_say_again(golden: Log) -> None:
    other = "The persistent cache has a program of this name under a different key."
    first, again = (
        dataclasses.replace(one, compile_s=2.0, persistent=Persistent.WRITTEN, persistent_why=other)
        for one in golden.compiles[:2]
    )
    assert not first.is_recompile
    assert again.is_recompile
    log = dataclasses.replace(golden, compiles=(first, again), storms=(), failed=())
    assert [row.persistent_cache for row in rows(log).rows] == ["", other]
    assert text(log, width=200).count(other) == 1


def test_an_event_has_all_that_a_panel_shows() -> None:
    event = CompileEvent(
        serial=3, fun_name="step", kind=CompileKind.JIT, cell=5, cell_id="a-b", place="In [3]:4",
        line=4, text="step(x)", trace_s=0.1, lower_s=0.2, compile_s=0.3, recompile=True,
        avoidable=True,
        cause="The shape of `x` changed.", fix="Pad `x`.",
    )  # fmt: skip
    data = to_json(event)
    jsonschema.validate(data, event_schema())
    assert event.seconds == pytest.approx(0.6)
    assert from_json(CompileEvent, data) == event


def test_causes_of_the_golden_log_are_of_the_model(golden: Log) -> None:
    kinds = {cause.kind for compile in golden.compiles for cause in compile.causes}
    assert kinds == {
        CauseKind.FIRST_CALL,
        CauseKind.SHAPE,
        CauseKind.EAGER_OP,
        CauseKind.NEW_FUNCTION,
    }
