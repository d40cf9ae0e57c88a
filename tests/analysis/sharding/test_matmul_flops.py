"""FLOPs of matrix products over all devices and per device, from the texts of a program."""

from __future__ import annotations

from jaxscope.analysis.cost import program_cost
from jaxscope.analysis.hlo import parse_module
from jaxscope.analysis.sharding.matmul_flops import matmul_flops
from jaxscope.model import MatmulFlops, Unavailable

TEXT = """\
HloModule jit_f

ENTRY %main (x: f32[ROWS,8], w: f32[8,4]) -> f32[ROWS,4] {
  %x = f32[ROWS,8]{1,0} parameter(0)
  %w = f32[8,4]{1,0} parameter(1)
  %sine = f32[ROWS,8]{1,0} sine(%x)
  ROOT %dot = f32[ROWS,4]{1,0} PRODUCT
}
"""
DOT = "dot(%sine, %w), lhs_contracting_dims={1}, rhs_contracting_dims={0}"
ADD = "add(%sine, %sine)"


def found(before: str, after: str) -> MatmulFlops | Unavailable:
    whole = parse_module(TEXT.replace("ROWS", "16").replace("PRODUCT", before))
    part = parse_module(TEXT.replace("ROWS", "4").replace("PRODUCT", after))
    return matmul_flops(whole, part, program_cost(part), {}, 4)


def test_only_matrix_products_count() -> None:
    assert found(DOT, DOT) == MatmulFlops(2.0 * 16 * 8 * 4, 2.0 * 4 * 8 * 4)


def test_without_products_on_either_side_there_is_a_reason() -> None:
    assert found(ADD, ADD) == Unavailable("the program has no matrix products")
    assert found(DOT, ADD) == Unavailable("XLA replaced the matrix products")
