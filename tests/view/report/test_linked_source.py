"""Links between lines, and what each line stands for."""

import dataclasses

import pytest

from jaxscope import model as m
from jaxscope.analysis.links.line_figures import LineFigures, defining_lines, figures, stage_of
from jaxscope.analysis.links.line_links import source_lines, stage_lines
from jaxscope.view.report.linked_source import shown_lines
from jaxscope.view.report.matches import matches
from tests.view.conftest import load, with_program

PROGRAM = load().programs[0]


def stage(kind: str) -> m.Stage:
    found = stage_of(PROGRAM, m.StageKind(kind))
    assert found is not None
    return found


def test_the_home_of_an_equation_is_its_innermost_line_in_that_source() -> None:
    assert (
        defining_lines(PROGRAM)[10] == 5
    )  # inside jnp.std, called in `standardize`, called at line 5
    assert defining_lines(PROGRAM, source=1)[10] == 6
    assert defining_lines(PROGRAM, source=7) == {}


def test_every_flop_of_the_program_is_found_at_a_line() -> None:
    assert isinstance(PROGRAM.cost, m.Cost)
    assert sum(row.flops or 0 for row in figures(PROGRAM).values()) == PROGRAM.cost.flops


def test_every_equation_is_counted_once() -> None:
    assert sum(row.equations for row in figures(PROGRAM).values()) == len(PROGRAM.equations)


def test_figures_by_line() -> None:
    found = figures(PROGRAM)
    assert sorted(found) == [3, 5, 7, 10, 11]
    # x @ w1 is 2 * 256 * 64 * 128, the bias one addition each.
    flops = 2.0 * 256 * 64 * 128 + 256 * 128
    assert (found[3].equations, found[3].instructions, found[3].flops) == (4, 6, flops)
    assert found[3].exact
    assert found[3].flops_bracket == (flops, flops)
    assert found[10].flops == 2 * 256 * 128 * 10
    assert not found[11].exact


def test_without_the_optimized_text_there_are_equations_only() -> None:
    bare = dataclasses.replace(PROGRAM, stages=())
    assert figures(bare)[3] == LineFigures(4, None, None)


@pytest.mark.parametrize("text", ["", "HloModule broken\n\nENTRY %main { what is", "no HLO"])
def test_a_text_that_is_no_hlo_does_no_harm(text: str) -> None:
    odd = m.Stage(m.StageKind.OPTIMIZED_HLO, text)
    assert figures(dataclasses.replace(PROGRAM, stages=(odd,)))[3].equations == 4


@pytest.mark.parametrize("kind", list(m.StageKind))
def test_links_can_be_followed_back(kind: str) -> None:
    link = matches(PROGRAM, stage(kind))
    # A guess leads back to its line, but not forth from one that surely became something else.
    sure = [n for n in link.source_lines if n not in link.inexact]
    assert sum(len(link.source_lines[n]) for n in sure) == sum(
        len(set(hits) - link.inexact) for hits in link.stage_lines.values()
    )
    for line, hits in link.stage_lines.items():
        assert list(hits) == sorted(set(hits))
        assert all(line in link.source_lines[hit] for hit in hits)


@pytest.mark.parametrize("source", [0, 1])
def test_the_links_are_those_of_the_analysis(source: int) -> None:
    for each in PROGRAM.stages:
        link = matches(PROGRAM, each, source)
        for line in range(1, 20):
            found = stage_lines(PROGRAM, each, line, source)
            assert link.stage_lines.get(line, ()) == found.lines
        for line in range(1, 200):
            found = source_lines(PROGRAM, each, line, source)
            assert tuple(sorted(link.source_lines.get(line, ()))) == found.lines


def spread() -> m.Program:
    """The program with the expression of line 3 reaching over lines 3 to 5."""

    def wide(frame: m.Frame) -> m.Frame:
        if (frame.source, frame.span.line) != (0, 3):
            return frame
        return dataclasses.replace(frame, span=m.Span(3, 4, 5, 2))

    changed = tuple(
        dataclasses.replace(e, frames=tuple(map(wide, e.frames))) for e in PROGRAM.equations
    )
    return dataclasses.replace(PROGRAM, equations=changed)


def test_every_line_of_an_expression_is_linked_and_its_first_has_the_figures() -> None:
    program = spread()
    link = matches(program, stage("jaxpr"))
    assert set(link.stage_lines[3]) == set(link.stage_lines[4]) < set(link.stage_lines[5])
    assert link.source_lines[link.stage_lines[3][0]] == (3, 4, 5)
    assert 4 not in figures(program)
    assert figures(program)[3] == figures(PROGRAM)[3]


def test_a_fusion_belongs_to_all_lines_it_holds_its_own_first() -> None:
    optimized = stage("optimized_hlo")
    rows = optimized.text.split("\n")
    fusion = next(n for n, row in enumerate(rows, 1) if "%multiply_add_fusion = " in row)
    assert matches(PROGRAM, optimized).source_lines[fusion] == (7, 5)


def test_candidates_are_marked_inexact() -> None:
    optimized = stage("optimized_hlo")
    assert len(matches(PROGRAM, optimized).inexact) == 2


def test_candidates_that_disagree_count_for_no_line() -> None:
    anchors = tuple(
        dataclasses.replace(a, equations=(0, 34), exact=False) if a.equations[0] == 34 else a
        for a in stage("optimized_hlo").anchors
    )
    changed = dataclasses.replace(stage("optimized_hlo"), anchors=anchors)
    assert figures(dataclasses.replace(PROGRAM, stages=(changed,)))[10].instructions == 0


def test_a_long_source_keeps_its_costly_and_its_marked_lines() -> None:
    found = {n: LineFigures(1, 1, float(n)) for n in range(2, 100, 2)}
    shown = shown_lines(1000, found, {51}, 10)
    assert shown == [1, 51, *range(84, 100, 2)]
    assert shown_lines(3, {}, (), 10) == [1, 2, 3]
    assert shown_lines(50, {80: LineFigures(1)}, (), 10) == [1]


def test_a_second_program_has_its_own_figures() -> None:
    record = with_program(load(), equations=PROGRAM.equations[:4])
    assert list(figures(record.programs[0])) == [3]
