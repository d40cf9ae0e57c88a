"""The gradient's chapter and columns, in every view."""

import dataclasses
import re

import jax
import jax.numpy as jnp
import pytest

import jaxscope
from jaxscope.analysis.gradient.residual_rows import equal_residuals
from jaxscope.model import Applied, Form, Record, StageKind, from_json, to_json
from jaxscope.view.base.table import Cell
from jaxscope.view.bundle.figures import by_line
from jaxscope.view.chapters import gradient
from jaxscope.view.report.document import static_html
from tests.view.conftest import markdown, tabs_html, text

pytestmark = pytest.mark.jax


def block(p, x):
    return x + jnp.tanh(x @ p)


def loss(params, x):
    for p in params:
        x = block(p, x)
    return jnp.mean(x**2)


def step(params, x):
    gradient = jax.grad(loss)(params, x)
    return [p - 0.1 * g for p, g in zip(params, gradient, strict=True)]


FORWARD = Applied("grad", (("--mode", "jacfwd"),))
HESSIAN = Applied("grad", (("--mode", "hessian"),))
PARAMS = [jnp.eye(8) * k for k in (0.1, 0.2, 0.3)]
X = jnp.ones((4, 8))


def inspected(function, *args):
    with jaxscope.options(runs=1):
        report = jaxscope.inspect(function, *args)
    report.stage(StageKind.OPTIMIZED_HLO)
    return report


@pytest.fixture(scope="module")
def trained():
    return inspected(jax.jit(step), PARAMS, X)


def chapter(report):
    return gradient.chapter(report.record, report.programs[0])


def rows(report, caption):
    [part] = [part for part in chapter(report).parts if part.caption.startswith(caption)]
    return part.table.rows


def line_of(report, code):
    return next(n for n, line in enumerate(report.sources[0].lines, 1) if code in line)


def test_a_program_without_a_derivative_has_no_chapter():
    report = inspected(jax.jit(loss), PARAMS, X)
    assert chapter(report) is None
    assert report.gradient is None
    assert report.residuals == ()
    assert " bwd " not in text(report.record, 120)


def test_the_chapter_begins_with_the_saved_residuals(trained):
    lead = chapter(trained).lead
    assert re.match(r"\d+ residuals are saved for the backward pass: ", lead[0])
    assert ". It also reads " in lead[0]
    assert " of arguments and constants. " in lead[0]
    assert f"of it from line {line_of(trained, 'jnp.tanh(x @ p)')}" in lead[0]
    assert "times the FLOPs of the forward pass" in lead[1]


def test_phases_add_up_to_the_program(trained):
    table = rows(trained, "Phases")
    assert [row[0] for row in table] == ["not differentiated", "forward", "backward"]
    assert sum(int(row[1]) for row in table) == len(trained.equations)


def test_residuals_are_listed_with_their_source_and_equal_ones_merged(trained):
    table = rows(trained, "Saved residuals, from the equations")
    tanh = line_of(trained, "jnp.tanh(x @ p)")
    assert any(row[3].startswith("output of `") and row[4] == str(tanh) for row in table)
    assert any(row[3].startswith("arguments, `params[") for row in table)
    assert sum(int(row[1]) for row in table) == len(trained.residuals)


def test_lines_are_listed_with_their_text(trained):
    first = rows(trained, "Saved residuals, by the line")[0]
    assert first[0] == str(line_of(trained, "jnp.tanh(x @ p)"))
    assert first[4] == "`return x + jnp.tanh(x @ p)`"


def test_lines_of_the_tables_lead_to_their_place(trained):
    found = tabs_html(trained.record)
    places = [f'data-source="{source}" data-line="{line}">' for source, line in kept_at(trained)]
    assert places
    assert all(place in found for place in places)


def kept_at(report):
    frames = [kept.made_at for kept in equal_residuals(report.record.programs[0]) if kept.made_at]
    return [(f.source, f.span.line) for f in frames if f.source is not None]


@pytest.mark.parametrize(
    ("caption", "columns"),
    [
        ("Saved residuals, by the line", {"line"}),
        ("Saved residuals, from the equations", {"made at", "read at"}),
        ("Compiled residuals", {"made at"}),
        ("Estimated effect of a checkpoint", {"lines"}),
    ],
)
def test_each_line_that_a_table_names_leads_to_itself(trained, caption, columns):
    [table] = [part.table for part in chapter(trained).parts if part.caption.startswith(caption)]
    linked = [
        (head, cell)
        for row in table.rows
        for head, cell in zip(table.heads, row, strict=True)
        if isinstance(cell, Cell)
    ]
    assert {head for head, _ in linked} == columns
    for _, cell in linked:
        said = re.match(r"(\d+)", cell)
        assert cell.place == ((0, int(said[1])) if said else None)


def test_a_checkpoint_is_proposed_with_its_cost(trained):
    [row] = rows(trained, "Estimated effect of a checkpoint")
    assert row[0] == "`block`"
    assert row[2] == "3"
    assert row[7] == "XLA for the CPU may undo it, outside a `scan`"


def test_a_checkpoint_beside_a_primitive_of_unknown_flops_has_no_share(trained):
    program = trained.programs[0]
    equations = tuple(
        dataclasses.replace(e, primitive="ffi_call") if e.primitive == "tanh" else e
        for e in program.equations
    )
    known, unknown = (
        gradient.checkpoint_table(trained.record, one).rows[0][5:7]
        for one in (program, dataclasses.replace(program, equations=equations))
    )
    assert known[1].endswith(" %")
    assert unknown == (f"at least {known[0]}", "")


def test_compiled_residuals_are_listed_separately(trained):
    table = rows(trained, "Compiled residuals, live across forward → backward")
    assert sum(int(row[1]) for row in table) == len(trained.compiled_residuals())
    assert f" in {len(trained.compiled_residuals())} arrays are live " in chapter(trained).lead[0]
    tanh = line_of(trained, "jnp.tanh(x @ p)")
    assert {row[4] for row in table} & {str(tanh)}


def test_a_square_keeps_nothing_and_its_backward_pass_is_half_again_the_work():
    lead = chapter(inspected(jax.grad(lambda x: jnp.sum(x * x)), X)).lead
    assert lead[0].startswith(
        "No residuals are saved for the backward pass. It reads 128 B of arguments and constants."
    )


def test_equal_flops_backward_and_forward_read_as_equal():
    x, w = jnp.ones((32, 512)), jnp.ones((512, 64))
    lead = chapter(inspected(jax.grad(lambda w: jnp.sum((x @ w) * 2.0)), w)).lead
    words = " ".join(lead)
    assert "does 1 times" not in words
    assert "On the jaxpr, the backward pass does about as many FLOPs as the forward pass: " in words


def test_passes_with_a_primitive_of_unknown_flops_are_not_compared():
    @jax.custom_vjp
    def called(x):
        return jax.pure_callback(lambda v: v * 2, X, x)

    called.defvjp(lambda x: (called(x), ()), lambda _, g: (g * 2.0,))
    report = inspected(jax.grad(lambda x: jnp.sum(jnp.sin(called(x)))), X)
    program = report.programs[0]
    equations = tuple(
        dataclasses.replace(e, primitive="ffi_call") if e.primitive == "pure_callback" else e
        for e in program.equations
    )
    assert equations != program.equations
    lead = " ".join(
        gradient.chapter(report.record, dataclasses.replace(program, equations=equations)).lead
    )
    assert "times the FLOPs" not in lead
    assert (
        "The FLOPs of `ffi_call` are unknown, so the forward and the backward pass are not "
        "compared."
    ) in lead


def test_one_compiled_residual_is_live_and_not_are():
    report = inspected(jax.grad(lambda w: jnp.sum(jnp.sin(jnp.tanh(X @ w)) ** 2)), jnp.ones((8, 3)))
    assert len(report.compiled_residuals()) == 1
    assert "Compiled, 48 B in 1 array is live across forward → backward." in chapter(report).lead[0]


@pytest.mark.parametrize(
    ("function", "sentence"),
    [
        (lambda x: jax.jvp(lambda x: jnp.sin(x), (x,), (x,)), "so no residuals are saved."),
        (
            jax.grad(lambda x: jnp.sum(3 * x)),
            "backward pass reads no residuals: the function is linear",
        ),
        (
            jax.jacrev(lambda x: jnp.sin(x[0, :2])),
            "Jacobian in reverse mode: 2 VJPs, one per output number",
        ),
        (jax.jacfwd(lambda x: jnp.sin(x[0, :2])), "Reverse mode would take 2 VJPs, about "),
    ],
)
def test_other_derivatives_have_their_own_sentence(function, sentence):
    assert sentence in " ".join(chapter(inspected(function, X)).lead)


def test_residuals_of_gradients_in_a_row_are_not_alive_at_once():
    def descent(params, x):
        for _ in range(2):
            params = step(params, x)
        return params

    assert " is alive at once" in chapter(inspected(jax.jit(descent), PARAMS, X)).lead[0]


def test_the_source_tells_the_backward_part_of_each_line(trained):
    shown = text(trained.record, 120)
    lines = shown.splitlines()
    heads = lines[next(n for n, line in enumerate(lines) if line.startswith("Source")) + 1]
    assert heads.split() == ["FLOPs", "bwd"]
    row = next(line for line in shown.splitlines() if "jnp.tanh(x @ p)" in line and "│" in line)
    assert re.search(r"p\) +≈?[\d.]+ [kM]? +\d+ % ", row)
    # A line without work has no figure: a dash would say that it is unknown.
    assert all("—" not in line for line in lines if "│" in line)
    assert max(map(len, text(trained.record, 76).splitlines())) <= 76


def test_every_view_shows_the_chapter_and_the_columns(trained):
    record = trained.record
    for view in (static_html(record, "u"), tabs_html(record), markdown(record), text(record, 120)):
        assert "saved for the backward pass" in view
    meaning = "the share of the line&#x27;s FLOPs that the backward pass does"
    assert f'<th scope=col align=right title="{meaning}">bwd' in static_html(record, "u")
    assert re.search(r"FLOPs +bwd", markdown(record))
    (figures,) = by_line(record.programs[0], 1)
    assert any("backward" in line for line in figures.values())


def test_the_record_keeps_it(trained):
    copy = from_json(Record, to_json(trained.record))
    assert copy.form is Form.CALL
    assert copy.programs[0].gradient == trained.gradient
    assert gradient.chapter(copy, copy.programs[0]) == chapter(trained)


def test_tables_for_data_frames(trained):
    lines = trained.to_dataframe("lines").set_index("line")
    row = lines.loc[line_of(trained, "jnp.tanh(x @ p)")]
    assert 0 < row["backward"] < row["equations"]
    assert 0 < row["backward_flops"] < row["flops"]
    update = lines.loc[line_of(trained, "p - 0.1 * g")]
    assert (update["backward"], update["backward_flops"]) == (0, 0.0)
    phases = trained.to_dataframe("ops")["phase"]
    assert {"forward", "backward", "primal"} <= set(phases)
    kept = trained.to_dataframe("residuals")
    assert len(kept) == len(trained.residuals)
    assert kept["bytes"].sum() == trained.gradient.bytes
    assert set(kept["line"].dropna()) <= set(range(1, 200))


def test_a_constant_gradient_is_a_finding():
    report = inspected(jax.grad(lambda x: jnp.sum(3 * x)), X)
    [found] = [f for f in report.findings if f.kind == "constant_folded"]
    assert found.message.endswith("because the derivative does not depend on the inputs.")
    assert "differentiate a function that is nonlinear in its inputs" in found.fix


def test_a_hessian_is_called_one_and_its_other_mode_is_a_hessian_too():
    report = inspected(jax.hessian(lambda x: jnp.sum(jnp.tanh(x) ** 2)), jnp.ones(3))
    applied = dataclasses.replace(report.programs[0], stack=(HESSIAN,))
    first = gradient.chapter(report.record, applied).lead[0]
    assert first.startswith("Hessian, the gradient differentiated in forward mode: 3 JVPs, ")
    assert first.endswith(
        "Reverse mode would take as many VJPs: either fits. `--mode jacrev --order 2` runs and "
        "times the other."
    )


def test_a_magics_jacobian_names_the_option_for_the_other_mode():
    report = inspected(jax.jacfwd(lambda x: jnp.sin(x[0, :2])), X)
    applied = dataclasses.replace(report.programs[0], stack=(FORWARD,))
    assert "`--mode jacrev` runs" in gradient.chapter(report.record, applied).lead[0]
    assert "`jaxscope.compare_modes`" in chapter(report).lead[0]


def test_stage_lines_of_the_backward_pass_are_marked(trained):
    shown = static_html(trained.record, "u")
    assert "optimized HLO, " in shown
    assert "lines, ← backward pass</summary>" in shown
    stage = trained.stage("optimized_hlo")
    backward = {
        anchor.line
        for anchor in stage.anchors
        if anchor.exact and trained.equations[anchor.equations[0]].phase == "backward"
    }
    for number, line in enumerate(stage.text.splitlines(), 1):
        label = f">{number:>{len(str(len(stage.text.splitlines())))}}</a> "
        if label in shown:
            assert (f"{label}←" in shown) is (number in backward), line
    plain = static_html(inspected(jax.jit(loss), PARAMS, X).record, "u")
    assert "</a> ←" not in plain
