"""The report in a terminal."""

import dataclasses
import re

import pytest

from jaxscope import model as m
from jaxscope.view.base.visible import columns
from tests.view.conftest import load, plain, text, with_program

ANSI = re.compile(r"\x1b\[[0-9;]*m")


def evil() -> m.Record:
    """Names, texts and findings with everything that a terminal would obey or misplace."""
    record = load()
    bad = "\x1b[2Jx = '漢字漢字'\u202e # \x07" + "y" * 300
    source = dataclasses.replace(record.sources[0], name="ce\x1b]0;ll", text=bad + "\n" + bad)
    finding = m.Finding(m.FindingKind.EAGER, 1, "m\x1b[31m" + "w" * 200, "fix\u202e", "e\x9b")
    value = m.Value("漢\x1b", m.ValueKind.STATIC, "字" * 200, None, reason="r" * 300)
    return with_program(
        dataclasses.replace(record, sources=(source,), findings=(finding,), notes=("n\x1b[0m",)),
        inputs=(value,),
    )


def test_advice_that_repeats_the_last_is_not_written_again() -> None:
    evidence = ("It printed `a`.", "It printed `b`.", "It printed `b`.")
    found = [
        m.Finding(m.FindingKind.TRACE_TIME_SIDE_EFFECT, line, "It runs once.", "Return it.", seen)
        for line, seen in enumerate(evidence, 1)
    ]
    other = m.Finding(m.FindingKind.EAGER, 1, "It runs once.", "Jit it.", "")
    written = text(dataclasses.replace(load(), findings=(*found, other)), 100, full=True)
    assert written.count("It runs once.") == 2
    assert written.count("→ Return it.") == 1
    assert [written.count(seen) for seen in ("It printed `a`.", "It printed `b`.")] == [1, 1]
    assert re.search(r"line 2 +It printed `b`\.\n +line 3 +The same\.\n", written)


RECORDS = {
    "golden": load(),
    "evil": evil(),
    "plain": plain(load()),
    "empty source": dataclasses.replace(
        plain(load()), sources=(m.Source("cell", "f", m.SourceKind.CELL, ""),)
    ),
    "no sources": dataclasses.replace(plain(load()), sources=()),
}


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("width", [40, 56, 72, 80, 100, 200])
@pytest.mark.parametrize("name", RECORDS)
def test_no_line_is_wider_than_the_terminal(name: str, width: int, full: bool) -> None:
    for line in text(RECORDS[name], width, full=full).splitlines():
        assert columns(line) <= width, line


@pytest.mark.parametrize("name", RECORDS)
def test_color_adds_escape_codes_and_nothing_else(name: str) -> None:
    bare, colored = text(RECORDS[name], 90), text(RECORDS[name], 90, color=True)
    assert "\x1b" not in bare
    assert "\x1b[" in colored
    # A color that is readable on white is not on black: words have the terminal's own.
    painted = re.findall(r"\x1b\[3\dm(.*?)\x1b", colored)
    assert {char for part in painted for char in part} <= set("!█▉▊▋▌▍▎▏")
    assert [line.rstrip() for line in ANSI.sub("", colored).splitlines()] == bare.splitlines()


def test_what_a_terminal_would_obey_is_spelled_out() -> None:
    shown = text(evil(), 100)
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]", shown)
    assert "\\x1b[2Jx = '漢字漢字'\\u202e" in shown


def test_the_short_form_fits_a_screen_and_says_what_matters() -> None:
    shown = text(load(), 100)
    assert len(shown.splitlines()) < 50
    lines = shown.splitlines()
    assert lines[0].startswith("jit(cell) · cpu:0 · 412 µs")
    assert "  line 4    `print` runs only while the cell is traced" in shown
    assert (
        '            → Print values from inside the program with `jax.debug.print("hidden' in shown
    )
    assert "   3 │ h = jnp.tanh(x @ w1 + b1)                    4.23 M ██████▌" in lines
    assert "! 11 │ loss = cross_entropy(logits, labels)          ≈20 k ▏" in lines
    assert "   1 │ %%jaxjit -d w2" in lines
    assert "depth          static    2" in shown
    assert "int, so static; -t depth traces it" in shown
    assert "optimized HLO" not in shown


def test_the_full_form_has_everything() -> None:
    shown = text(load(), 120, full=True)
    for words in (
        "Source: In [3]",
        "Outputs",
        "51 × 2 calls",
        "387 kB",
        "Eager operations: 1 compilation, ",
        "--xla_cpu_multi_thread_eigen=true",
        "jaxpr, 75 lines",
        "StableHLO, ",
        "unoptimized HLO, ",
        "optimized HLO, 187 lines",
        "3.5 FLOP/B is below the ridge",
    ):
        assert words in shown, words


def test_a_long_cell_shows_its_costly_lines_and_says_what_it_leaves_out() -> None:
    record = load()
    filler = "".join(f"# {i}\n" for i in range(300))
    source = dataclasses.replace(record.sources[0], text=record.sources[0].text + filler)
    shown = text(dataclasses.replace(record, sources=(source,)), 100)
    assert "h = jnp.tanh(x @ w1 + b1)" in shown
    assert "⋮ 302 lines not shown" in shown
    assert "# 299" not in shown
    assert "# 299" in text(dataclasses.replace(record, sources=(source,)), 100, full=True)


def test_a_stage_of_100_000_lines_is_cut_with_the_way_to_the_rest() -> None:
    stage = m.Stage(m.StageKind.JAXPR, "a\n" * 100_000)
    shown = text(with_program(load(), stages=(stage,)), 100, full=True)
    assert "jaxpr, 100 000 lines" in shown
    assert '99 600 more lines left out; report.stage("jaxpr").text has all.' in shown
    assert len(shown) < 50_000


def test_stages_that_are_missing_say_why() -> None:
    gone = m.Stage(m.StageKind.HLO, unavailable=m.Unavailable("the program was released"))
    shown = text(with_program(load(), stages=(gone,)), 100, full=True)
    assert "There is no unoptimized HLO: the program was released." in shown
    assert 'This text was not fetched; report.stage("jaxpr").text gives it.' in shown


def test_a_run_without_a_program_says_so() -> None:
    assert "jaxscope could not trace this cell, so it ran as plain Python." in text(
        plain(load()), 100
    )
    written = text(plain(load(), form=m.Form.BLOCK), 100)
    assert written.count("othing was compiled") == 1
    assert "Source" not in written
    assert "The source is empty." in text(RECORDS["empty source"], 100)


def test_several_devices_show_where_each_input_lies() -> None:
    record = with_program(load(), devices=("cpu:0", "cpu:1"))
    assert "cpu:0  jax.Array" in text(record, 100)
    assert "cpu:0  jax.Array" not in text(load(), 100)


def test_the_width_is_that_of_the_terminal_unless_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    assert text(load()) == text(load(), 60)
