"""Our counts against XLA's own `cost_analysis()`, on real programs."""

from typing import Any

import jax
import jax.numpy as jnp
import jaxlib
import pytest

from jaxscope.analysis.cost import CostCounts, program_cost
from jaxscope.analysis.hlo import parse_module
from tests.analysis.cost.xla_rules import xla_cost
from tests.analysis.hlo import hlo_programs

pytestmark = pytest.mark.jax

VERSION = tuple(int(part) for part in jaxlib.__version__.split(".")[:2])
# How this jaxlib counts tuples: see `xla_cost`.
RULES: dict[str, Any] = {
    "pointer_bytes": 4 if VERSION >= (0, 11) else 8,
    "tuple_results_as_arrays": VERSION >= (0, 9),
}


def figures_of_xla(name: str, stage: str) -> CostCounts:
    program = hlo_programs.compiled(name) if stage == "after" else hlo_programs.lowered(name)
    found = program.cost_analysis()
    return CostCounts(
        found.get("flops", 0.0), found.get("transcendentals", 0.0), found["bytes accessed"]
    )


@pytest.mark.parametrize("stage", ["before", "after"])
@pytest.mark.parametrize("name", hlo_programs.PROGRAMS)
def test_the_sums_equal_those_of_xla(name: str, stage: str) -> None:
    # XLA's is itself a sum of 32-bit floats; these programs are small enough for it to be exact.
    module = parse_module(hlo_programs.text(name, stage))
    assert xla_cost(module, **RULES) == figures_of_xla(name, stage)


@pytest.mark.parametrize("name", hlo_programs.PROGRAMS)
def test_ours_is_that_of_xla_except_where_we_say_so(name: str) -> None:
    module = parse_module(hlo_programs.text(name, "after"))
    ours, xla = program_cost(module), figures_of_xla(name, "after")
    differs = {"scan", "nested_scan", "fori", "linear_algebra", "random", "transforms", "callback"}
    if name in {*differs, "elementwise"}:
        # Loops multiplied out, library calls estimated or left out, FFTs by the textbook, complex
        # numbers in real operations.
        assert ours.flops != xla.flops
        return
    assert ours.flops == xla.flops
    if name != "branches":
        # XLA takes the sine of one branch and the matrix product of another.
        assert ours.transcendentals == xla.transcendentals


def test_a_table_behind_a_gather_is_read_by_the_row() -> None:
    module = parse_module(hlo_programs.text("gather_then_sum", "after"))
    rows, width, item = 8, 64, 4
    table = 1000 * width * item
    assert program_cost(module).bytes_accessed < 6 * rows * width * item < table
    assert xla_cost(module, **RULES).bytes_accessed > table


def test_xla_takes_the_most_of_each_figure_over_the_branches_and_we_take_one_branch() -> None:
    module = parse_module(hlo_programs.text("branches", "after"))
    assert xla_cost(module, **RULES).transcendentals == 32
    ours = program_cost(module)
    assert ours.transcendentals == 0
    assert ours.flops >= 2 * 32 * 32


def test_xla_counts_a_callback_as_minus_one_and_we_leave_it_out() -> None:
    module = parse_module(hlo_programs.text("callback", "after"))
    assert figures_of_xla("callback", "after").flops == 4
    ours = program_cost(module)
    assert ours.flops == 5
    assert len(ours.unknown) == 1
    assert "whose cost is unknown; it is not counted." in ours.unknown[0]
    opaque = [row for row in ours.by_instruction if row.flops is None]
    assert [(row.bytes_accessed, row.times, row.known) for row in opaque] == [(None, 1.0, False)]


def test_library_routines_are_estimated_with_their_source() -> None:
    ours = program_cost(parse_module(hlo_programs.text("linear_algebra", "after")))
    n = 32
    by_name = {sentence.split(" calls ")[1].split(":")[0]: sentence for sentence in ours.estimated}
    assert "n^3/3 (LAPACK Working Note 41)" in by_name["lapack_spotrf_ffi"]
    costs = {row.name: row for row in ours.by_instruction}
    cholesky = costs[by_name["lapack_spotrf_ffi"].split()[0]]
    assert (cholesky.flops, cholesky.known) == (n**3 / 3, False)
    assert {"lapack_sgeqrf_ffi", "lapack_sgetrf_ffi", "lapack_strsm_ffi"} <= set(by_name)
    assert ours.unknown == ()


@pytest.mark.parametrize("stage", ["before", "after"])
@pytest.mark.parametrize(
    ("name", "flops", "transcendentals"),
    [
        # tanh(c @ w + x) and the sum, 20 times: 2*16*16 + 16 + 15.
        ("scan", 20 * (2 * 16 * 16 + 16 + 15), 20 * 16),
        # tanh(c @ c.T @ c) for c of 8 by 16, 7 times in each of 5.
        ("nested_scan", 5 * 7 * (2 * 8 * 16 * 8 + 2 * 8 * 8 * 16), 5 * 7 * 8 * 16),
        # sin(c @ w) + i for c of 4 by 16, 37 times.
        ("fori", 37 * (2 * 4 * 16 * 16 + 4 * 16), 37 * 4 * 16),
    ],
)
def test_loops_are_multiplied_out(
    name: str, stage: str, flops: float, transcendentals: float
) -> None:
    cost = program_cost(parse_module(hlo_programs.text(name, stage)))
    # The counter of the loop is the rest.
    assert flops <= cost.flops <= 1.01 * flops
    assert cost.transcendentals == transcendentals
    assert cost.unknown == ()
    assert all(row.known for row in cost.by_instruction)


@pytest.mark.parametrize("name", hlo_programs.PROGRAMS)
def test_the_rows_add_up_to_the_totals(name: str) -> None:
    cost = program_cost(parse_module(hlo_programs.text(name, "after")))
    assert sum((r.flops or 0) * r.times for r in cost.by_instruction) == cost.flops
    moved = sum((r.bytes_accessed or 0) * r.times for r in cost.by_instruction)
    assert moved == cost.bytes_accessed
    names = [row.name for row in cost.by_instruction]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("name", ["matmul_chain", "nested_scan", "attention_gradient", "slices"])
def test_the_work_inside_fusions_is_that_of_the_fusions(name: str) -> None:
    module = parse_module(hlo_programs.text(name, "after"))
    cost = program_cost(module)
    fusions = {i.name for i in module.instructions() if i.opcode == "fusion"}
    outside = sum((r.flops or 0) * r.times for r in cost.by_instruction if r.name in fusions)
    assert sum((r.flops or 0) * r.times for r in cost.fused) == outside
    assert fusions
    assert all(row.bytes_accessed == 0 for row in cost.fused)


def test_an_unknown_loop_is_named_and_counted_once() -> None:
    module = parse_module(hlo_programs.text("dynamic_while", "after"))
    loop = next(i.name for i in module.instructions() if i.opcode == "while")
    cost = program_cost(module)
    assert cost.unknown == (f"{loop} runs an unknown number of times; its body is counted once.",)
    assert 2 * 16 * 16 <= cost.flops <= 1.01 * 2 * 16 * 16
    dot = max(cost.by_instruction, key=lambda row: row.flops or 0)
    assert (dot.times, dot.known) == (1.0, False)


def test_complex_arithmetic_is_counted_in_real_operations() -> None:
    def flops(function: Any, *values: Any) -> float:
        text = jax.jit(function).lower(*values).compile().as_text()
        return program_cost(parse_module(text)).flops

    n = 64
    matrix = jnp.ones((n, n), jnp.complex64)
    assert flops(lambda a, b: a @ b, matrix, matrix) == 8 * n**3
    assert flops(lambda a, b: a * b, matrix, matrix) == 6 * n**2
    assert flops(lambda a, b: a + b, matrix, matrix) == 2 * n**2
    assert flops(lambda a: a.sum(), matrix) == 2 * (n**2 - 1)
    assert flops(lambda a, b: a @ b, matrix.real, matrix.real) == 2 * n**3
