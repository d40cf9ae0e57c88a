"""Links between lines, and what each line stands for."""

import dataclasses

import pytest

from jaxscope import model as m
from jaxscope.view.lines import LineFigures, figures, matches, origins, shown_lines, stage_of
from view.conftest import load, with_program

PROGRAM = load().programs[0]


def stage(kind: str) -> m.Stage:
    found = stage_of(PROGRAM, m.StageKind(kind))
    assert found is not None
    return found


def test_an_equation_of_a_library_belongs_to_the_line_of_its_parent() -> None:
    lines = origins(PROGRAM)
    assert PROGRAM.equations[10].frames == ()  # inside jnp.std
    assert lines[10] == (5,)
    assert origins(PROGRAM, source=1)[10] == (6,)


def test_parents_in_a_circle_end() -> None:
    loop = tuple(dataclasses.replace(e, frames=(), parent=e.id) for e in PROGRAM.equations[:2])
    assert origins(dataclasses.replace(PROGRAM, equations=loop)) == {0: (), 1: ()}


def test_every_flop_of_the_program_is_found_at_a_line() -> None:
    assert isinstance(PROGRAM.cost, m.Cost)
    assert sum(row.flops or 0 for row in figures(PROGRAM).values()) == PROGRAM.cost.flops


def test_every_equation_is_counted_once() -> None:
    assert sum(row.equations for row in figures(PROGRAM).values()) == len(PROGRAM.equations)


def test_figures_by_line() -> None:
    found = figures(PROGRAM)
    assert sorted(found) == [3, 5, 7, 10, 11]
    # x @ w1 is 2 * 256 * 64 * 128, the bias one addition each.
    assert found[3] == LineFigures(4, 6, 2.0 * 256 * 64 * 128 + 256 * 128, exact=True)
    assert found[10].flops == 2 * 256 * 128 * 10
    assert not found[11].exact


def test_without_the_optimised_text_there_are_equations_only() -> None:
    bare = dataclasses.replace(PROGRAM, stages=())
    assert figures(bare)[3] == LineFigures(4, None, None)


@pytest.mark.parametrize("text", ["", "HloModule broken\n\nENTRY %main { what is", "no HLO"])
def test_a_text_that_is_no_hlo_does_no_harm(text: str) -> None:
    odd = m.Stage(m.StageKind.OPTIMIZED_HLO, text)
    assert figures(dataclasses.replace(PROGRAM, stages=(odd,)))[3].equations == 4


@pytest.mark.parametrize("kind", list(m.StageKind))
def test_links_can_be_followed_back(kind: str) -> None:
    link = matches(PROGRAM, stage(kind))
    assert sum(len(hits) for hits in link.stage_lines.values()) == sum(
        len(lines) for lines in link.source_lines.values()
    )
    for line, hits in link.stage_lines.items():
        assert list(hits) == sorted(set(hits))
        assert all(line in link.source_lines[hit] for hit in hits)


def test_a_fusion_belongs_to_all_lines_it_holds_its_own_first() -> None:
    optimised = stage("optimized_hlo")
    rows = optimised.text.split("\n")
    fusion = next(n for n, row in enumerate(rows, 1) if "%multiply_add_fusion = " in row)
    assert matches(PROGRAM, optimised).source_lines[fusion] == (7, 5)


def test_candidates_are_marked_inexact() -> None:
    optimised = stage("optimized_hlo")
    assert len(matches(PROGRAM, optimised).inexact) == 2
    untagged = dataclasses.replace(PROGRAM, exact=False)
    assert len(matches(untagged, optimised).inexact) == len(optimised.anchors)


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
