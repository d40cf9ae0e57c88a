"""The report as Markdown."""

import dataclasses
import re

from jaxscope import model as m
from tests.view.conftest import load, markdown, plain, with_program


def test_the_parts_stand_in_order() -> None:
    shown = markdown(load())
    assert shown.startswith("**jit(cell)** · cpu:0 · 412 µs ± 0.2 % per call")
    heads = re.findall(r"^### (.*)$", shown, re.MULTILINE)
    assert heads == [
        "Findings",
        "Source: cell",
        r"Source: In \[3\]",
        "Inputs and outputs",
        "Work and memory",
        "Timing",
        "Compilations",
        "Environment",
    ]
    assert "\n4.23 M   3  h = jnp.tanh(x @ w1 + b1)" in shown
    assert "<details><summary>optimized HLO, 187 lines</summary>" in shown


def test_every_row_of_a_table_has_the_cells_of_its_head() -> None:
    evil = m.Value("a|b", m.ValueKind.STATIC, "`x|y` | *z* <img>", None)
    shown = markdown(with_program(load(), inputs=(evil,)))
    unescaped = re.compile(r"(?<!\\)\|")
    width = 0
    for line in shown.splitlines():
        if line.startswith("|"):
            width = width or len(unescaped.findall(line))
            assert len(unescaped.findall(line)) == width, line
        else:
            width = 0
    assert r"`x\|y` \| \*z\* \<img\>" in shown


def test_backticks_in_the_source_cannot_end_its_block() -> None:
    record = load()
    source = dataclasses.replace(record.sources[0], text='x = """\n```\n# <script>\n"""\n')
    shown = markdown(dataclasses.replace(plain(record), sources=(source,)))
    fence = "`" * 4
    assert f"{fence}python\n 1  x" in shown
    assert shown.count(f"\n{fence}") == 2


def test_a_run_without_a_program_has_its_source_and_environment() -> None:
    shown = markdown(plain(load()))
    assert "ran as plain Python" in shown
    assert "### Environment" in shown
    assert "### Time" not in shown


def test_a_missing_text_says_why() -> None:
    gone = m.Stage(m.StageKind.OPTIMIZED_HLO, unavailable=m.Unavailable("released; re-run"))
    shown = markdown(with_program(load(), stages=(gone,)))
    assert "There is no optimized HLO: released; re-run." in shown
    assert "<details>" not in markdown(with_program(load(), stages=()))


def test_a_long_text_is_cut() -> None:
    stage = m.Stage(m.StageKind.OPTIMIZED_HLO, "x\n" * 1000)
    shown = markdown(with_program(load(), stages=(stage,)))
    assert '600 more lines left out; `report.stage("optimized_hlo").text` has all.' in shown
