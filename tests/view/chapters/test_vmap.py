"""The chapter on batching, from hand-built records."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import pytest

import jaxscope
from jaxscope import model as m
from jaxscope.view.base.document import Chapter
from jaxscope.view.base.table import Cell
from jaxscope.view.chapters.vmap import chapter
from tests.view.conftest import as_html, text

TEXT = "%%jaxjit\ns = w.sum()\ny = jnp.tanh(x) * s\nz = lax.cond(x[0] > 0, f, g, x)\n"
EQUATIONS = (("reduce_sum", 2), ("tanh", 3), ("mul", 3), ("select_n", 4))
FOUND = (
    m.BatchedEquation(0, (0,), (), 3.0),
    m.BatchedEquation(1, (0,), (0,), 15.0, m.BatchingResult.EXTRA_BATCH_DIMENSION),
    m.BatchedEquation(2, (0,), (0,), 15.0, m.BatchingResult.EXTRA_BATCH_DIMENSION),
    m.BatchedEquation(
        3,
        (0,),
        (0,),
        15.0,
        m.BatchingResult.SELECT_ALL_BRANCHES,
        detail="2 branches",
        function="cond",
    ),
)
AXIS = m.BatchAxis("", 5, None)


def written(golden: m.Record, batching: m.Batching | m.Unavailable | None) -> Chapter | None:
    equations = tuple(
        m.Equation(
            number,
            primitive,
            m.Span(line, 0, line, 9),
            (m.Frame(0, "cell", "cell", m.Span(line, 0, line, 9)),),
            m.Phase.PRIMAL,
            parent=None,
        )
        for number, (primitive, line) in enumerate(EQUATIONS)
    )
    program = replace(golden.programs[0], equations=equations, vmap=batching)
    source = m.Source("cell", "cell", m.SourceKind.CELL, TEXT)
    return chapter(replace(golden, sources=(source,), programs=(program,)), program)


def test_a_program_without_vmap_has_no_chapter(golden: m.Record) -> None:
    assert written(golden, None) is None


def test_the_lead_has_the_equations_and_the_flops(golden: m.Record) -> None:
    made = written(golden, m.Batching((AXIS,), FOUND[:3]))
    assert made is not None
    first, second = made.lead
    assert first == (
        "`vmap` over 5 examples: 2 of 3 equations are batched, 1 is unbatched and done once."
    )
    assert second.startswith("33 FLOP batched and 45 FLOP in a Python loop over the examples")
    assert "(1.36 times)" in second


@pytest.mark.parametrize(
    ("result", "ending"),
    [
        (
            m.BatchingResult.SELECT_ALL_BRANCHES,
            "All branches of each `cond` are executed, in a Python loop one per example.",
        ),
        (m.BatchingResult.WHILE_UNTIL_ALL_DONE, "A loop of unknown length counts once."),
    ],
)
def test_a_python_loop_whose_work_depends_on_the_examples_has_no_flops(
    golden: m.Record, result: m.BatchingResult, ending: str
) -> None:
    found = (*FOUND[:3], replace(FOUND[3], result=result))
    made = written(golden, m.Batching((AXIS,), found))
    assert made is not None
    assert made.lead[1] == f"48 FLOP batched, counted on the jaxpr. {ending}"
    table = made.parts[-1].table
    assert table is not None
    column = table.heads.index("FLOPs in a loop")
    assert {row[column] for row in table.rows} == {""}


def test_flops_that_are_partly_unknown_are_a_lower_bound(
    golden: m.Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(globals(), "EQUATIONS", (*EQUATIONS[:2], ("ffi_call", 3)))
    made = written(golden, m.Batching((AXIS,), FOUND[:3]))
    assert made is not None
    assert made.lead[1] == (
        "At least 33 FLOP batched, counted on the jaxpr: the FLOPs of `ffi_call` are unknown."
    )


def test_a_line_whose_flops_are_unknown_has_no_zero(
    golden: m.Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(globals(), "EQUATIONS", [("ffi_call", line) for _, line in EQUATIONS])
    made = written(golden, m.Batching((AXIS,), tuple(replace(one, flops=0.0) for one in FOUND)))
    assert made is not None
    assert made.lead[1] == "On the jaxpr, the FLOPs of `ffi_call` are unknown."
    table = made.parts[-1].table
    assert table is not None
    assert {row[table.heads.index("FLOPs")] for row in table.rows} == {""}


def test_flops_that_round_to_the_same_are_about_as_many(golden: m.Record) -> None:
    made = written(golden, m.Batching((AXIS,), (FOUND[0], replace(FOUND[1], flops=80_000.0))))
    assert made is not None
    assert ", about as many as in a Python loop over the examples, counted" in made.lead[1]
    assert "repeats" not in made.lead[1]


def test_equal_flops_are_reported_as_equal(golden: m.Record) -> None:
    made = written(golden, m.Batching((AXIS,), FOUND[1:3]))
    assert made is not None
    assert made.lead[0].endswith(": all 2 equations are batched.")
    assert "as many as in a Python loop" in made.lead[1]


def test_every_line_has_its_batching_result(golden: m.Record) -> None:
    made = written(golden, m.Batching((AXIS,), FOUND))
    assert made is not None
    table = made.parts[-1].table
    assert table is not None
    assert [(row[0], row[2], row[4], row[-1]) for row in table.rows] == [
        ("2", "0", "1", "unbatched: reduce_sum"),
        ("3", "2", "0", "extra dimension: tanh, mul"),
        ("4", "1", "0", "cond → both branches, then a select"),
    ]


def test_a_line_with_many_results_counts_the_last_ones(golden: m.Record) -> None:
    """As of a line that calls a model of many layers."""
    dot = m.BatchingResult.DOT_GENERAL
    found = [m.BatchedEquation(2, (0,), (0,), 15.0, dot, detail=f"({n}×4)") for n in range(7)]
    made = written(golden, m.Batching((AXIS,), tuple(found)))
    assert made is not None
    table = made.parts[-1].table
    assert table is not None
    assert table.rows[0][-1] == (
        "mul → matrix product (0×4); mul → matrix product (1×4); mul → matrix product (2×4); "
        "4 more results"
    )


def test_several_axes_are_distinguished(golden: m.Record) -> None:
    axes = (m.BatchAxis("", 5, 2), m.BatchAxis("j", 7, 3))
    found = (
        m.BatchedEquation(1, (0, 1), (0, 1), 35.0, m.BatchingResult.EXTRA_BATCH_DIMENSION),
        m.BatchedEquation(2, (0, 1), (1,), 7.0, m.BatchingResult.EXTRA_BATCH_DIMENSION),
    )
    made = written(golden, m.Batching(axes, found))
    assert made is not None
    assert made.lead[0] == (
        "`vmap` over 5 examples and 7 examples (`j`): 1 of 2 equations is batched, "
        "1 over some of its axes only."
    )
    made = written(golden, m.Batching((m.BatchAxis("", 5, 2),) * 4, found))
    assert made is not None
    assert "`vmap` over 5 examples (4 times): " in made.lead[0]
    made = written(golden, m.Batching(axes, found))
    assert made is not None
    named, lines = made.parts
    assert named.table is not None
    assert lines.table is not None
    assert [row[:4] for row in named.table.rows] == [
        ("vmap 1", "5", "line 2", "1"),
        ("j", "7", "line 3", "2"),
    ]
    assert lines.table.rows[0][-1] == (
        "extra dimension: tanh [vmap 1, j]; extra dimension: mul [j]"
    )


def test_an_axis_around_everything_is_that_of_the_whole_program(golden: m.Record) -> None:
    made = written(golden, m.Batching((AXIS,), FOUND))
    assert made is not None
    axes = made.parts[0].table
    assert axes is not None
    assert axes.rows[0][:3] == ("vmap", "5", "the whole program")


def test_a_vmap_of_a_library_has_the_line_that_it_is_inside_of(golden: m.Record) -> None:
    made = written(golden, m.Batching((AXIS,), FOUND[1:3]))
    assert made is not None
    assert made.lead[0].startswith("`vmap` over 5 examples: all 2 ")
    axes = made.parts[0].table
    assert axes is not None
    assert axes.rows[0][2] == "inside line 3"
    assert not made.parts[1].brief


def test_a_vmap_of_one_example_inside_a_program_is_no_chapter(golden: m.Record) -> None:
    one = m.Batching((replace(AXIS, size=1),), FOUND)
    assert written(golden, one) is None
    asked = replace(golden.programs[0], vmap=one, stack=(m.Applied("vmap"),))
    assert chapter(golden, asked) is not None


@pytest.mark.jax
@pytest.mark.parametrize(
    ("mode", "number", "products"),
    [
        (jax.jacfwd, "7", "JVPs"),
        (jax.jacrev, "3", "VJPs"),
        (jax.hessian, "7 × 3", "JVPs and VJPs"),
    ],
)
def test_the_batch_of_a_jacobian_is_of_jvps_or_vjps(mode: Any, number: str, products: str) -> None:
    with jaxscope.options(runs=0):
        report = jaxscope.inspect(mode(lambda v: jnp.sum(jnp.sin(v) ** 2) * v[:3]), jnp.ones(7))
    applied = m.Applied("grad", (("--mode", mode.__name__),))
    made = chapter(report.record, replace(report.programs[0], stack=(applied,)))
    assert made is not None
    assert made.lead[0].startswith(f"The {number} {products} of the Jacobian are ")
    assert "example" not in "".join(made.lead)
    axes = made.parts[0].table
    assert axes is not None
    assert axes.heads[1] == products
    assert {row[2] for row in axes.rows} == {"the Jacobian"}
    assert not made.parts[1].brief


@pytest.mark.jax
def test_a_single_axis_of_as_many_products_as_the_jacobian_is_the_jacobians() -> None:
    with jaxscope.options(runs=0):
        report = jaxscope.inspect(jax.jacfwd(lambda v: jnp.sin(v)[:3] * v.sum()), jnp.ones(7))
    made = chapter(report.record, report.programs[0])
    assert made is not None
    assert made.lead[0].startswith("The 7 JVPs of the Jacobian are one `vmap`")


@pytest.mark.jax
def test_examples_beside_a_jacobian_stay_examples() -> None:
    with jaxscope.options(runs=0):
        report = jaxscope.inspect(jax.vmap(jax.jacfwd(jnp.sin)), jnp.ones((5, 7)))
    made = chapter(report.record, report.programs[0])
    assert made is not None
    assert "`vmap` over " in made.lead[0]
    assert "5 examples" in made.lead[0]


def test_a_line_of_the_table_leads_to_itself(golden: m.Record) -> None:
    made = written(golden, m.Batching((AXIS,), FOUND))
    assert made is not None
    table = made.parts[-1].table
    assert table is not None
    leads = [row[0].place for row in table.rows if isinstance(row[0], Cell)]
    assert leads[:3] == [(0, 2), (0, 3), (0, 4)]
    assert table.rows[0][1] == "`s = w.sum()`"


def test_what_could_not_be_read_says_so(golden: m.Record) -> None:
    made = written(golden, m.Unavailable("the batched equations could not be read (KeyError)"))
    assert made is not None
    assert made.lead == (
        "Batching is unavailable: the batched equations could not be read (KeyError).",
    )
    assert made.parts == ()


def test_foreign_words_are_escaped(golden: m.Record) -> None:
    axis = replace(AXIS, name="<script>")
    made = written(golden, m.Batching((axis,), FOUND))
    assert made is not None
    assert "<script>" not in as_html(made)
    assert "&lt;script&gt;" in as_html(made)


@pytest.mark.parametrize("full", [False, True])
def test_the_text_report_shows_the_chapter(golden: m.Record, full: bool) -> None:
    program = replace(golden.programs[0], vmap=m.Batching((AXIS,), ()))
    shown = text(replace(golden, programs=(program,)), 100, full=full)
    assert "vmap over 5 examples, with no equation under it." in shown


def test_a_batching_survives_the_wire(golden: m.Record) -> None:
    program = replace(golden.programs[0], vmap=m.Batching((AXIS,), FOUND))
    whole = replace(golden, programs=(program,))
    assert m.from_json(m.Record, m.to_json(whole)) == whole
