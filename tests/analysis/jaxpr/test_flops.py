"""FLOPs of one equation, by hand."""

from types import SimpleNamespace

import pytest

from jaxscope.analysis.jaxpr.flops import equation_flops, uncounted
from jaxscope.model import Equation, Phase


def sparse(shape):
    return SimpleNamespace(shape=shape)


@pytest.mark.parametrize(
    ("primitive", "inputs", "outputs", "params", "expected"),
    [
        ("add", [(4, 8), (4, 8)], [(4, 8)], {}, 32),
        ("tanh", [(4, 8)], [(4, 8)], {}, 32),
        ("mul", [(), ()], [()], {}, 1),
        ("reshape", [(4, 8)], [(32,)], {}, 0),
        ("transpose", [(4, 8)], [(8, 4)], {}, 0),
        ("reduce_sum", [(4, 8)], [()], {}, 32),
        (
            "dot_general",
            [(4, 3), (3, 5)],
            [(4, 5)],
            {"dimension_numbers": (((1,), (0,)), ((), ()))},
            2 * 4 * 3 * 5,
        ),
        (
            "dot_general",
            [(7, 4, 3), (7, 3, 5)],
            [(7, 4, 5)],
            {"dimension_numbers": (((2,), (1,)), ((0,), (0,)))},
            7 * 2 * 4 * 3 * 5,
        ),
        (
            "conv_general_dilated",
            [(1, 2, 8, 8), (4, 2, 3, 3)],
            [(1, 4, 8, 8)],
            {"dimension_numbers": SimpleNamespace(rhs_spec=(0, 1, 2, 3))},
            2 * 8 * 8 * 4 * 2 * 9,
        ),
        ("integer_pow", [(10,)], [(10,)], {"y": 2}, 10),
        ("integer_pow", [(10,)], [(10,)], {"y": 3}, 20),
        ("integer_pow", [(10,)], [(10,)], {"y": 8}, 30),
        ("integer_pow", [(10,)], [(10,)], {"y": 1}, 0),
        ("one_minus_square", [(10,)], [(10,)], {}, 30),
        ("polynomial", [(10,), (), (), (), ()], [(10,)], {}, 2 * 3 * 10),
        ("unreduced_pmax", [(10,)], [(10,)], {}, 10),
        ("scatter-add", [(10, 3), (2, 1), (2, 3)], [(10, 3)], {}, 6),
        ("sort", [(8,)], [(8,)], {"dimension": 0}, 24),
        ("fft", [(8,)], [(8,)], {"fft_lengths": (8,)}, 5 * 8 * 3),
        ("cholesky", [(2, 3, 3)], [(2, 3, 3)], {}, 2 * 27 / 3),
        ("lu", [(3, 3)], [(3, 3), (3,), (3,)], {}, 18),
        ("random_bits", [()], [(50, 4)], {"bit_width": 32, "shape": (50, 4)}, 200 * 200),
        ("random_split", [()], [(2,)], {"shape": (2,)}, 400),
        ("lu", [(30, 60)], [(30, 60), (30,), (30,)], {}, 54000 - 9000),
        ("qr", [(30, 60)], [(30, 30), (30, 60)], {}, 2 * 60 * 30**2),
        ("svd", [(30, 60)], [(30,)], {"compute_uv": False}, 4 * 60 * 30**2 - 4 * 30**3 / 3),
        ("svd", [(2, 60, 30)], [(2, 30)], {"compute_uv": True}, 2 * 26 * 30**3 + 12 * 30**3),
        ("eigh", [(10, 10)], [(10, 10), (10,)], {}, 9000),
        ("eig", [(10, 10)], [(10,)], {"compute_right_eigenvectors": False}, 10000),
        ("eig", [(10, 10)], [(10,)], {"compute_right_eigenvectors": True}, 25000),
        ("triangular_solve", [(3, 3), (3, 2)], [(3, 2)], {}, 18),
        (
            "bcoo_dot_general",
            [(60,), (60, 2), (20, 7)],
            [(10, 7)],
            {"dimension_numbers": (((1,), (0,)), ((), ())), "lhs_spinfo": sparse((10, 20))},
            2 * 60 * 7,
        ),
        (  # a batch of matrices, of which one is broadcast
            "bcoo_dot_general",
            [(1, 60), (1, 60, 2), (3, 20, 7)],
            [(3, 10, 7)],
            {"dimension_numbers": (((2,), (1,)), ((0,), (0,))), "lhs_spinfo": sparse((3, 10, 20))},
            3 * 2 * 60 * 7,
        ),
        ("scatter-max", [(10, 3), (2, 1), (2, 3)], [(10, 3)], {}, 6),
        ("reduce", [(4, 8), ()], [()], {}, 32),
        ("a primitive of tomorrow", [(4,)], [(4,)], {}, 0),
    ],
)
def test_flops_of_one_equation(primitive, inputs, outputs, params, expected):
    assert equation_flops(primitive, inputs, outputs, params) == expected


def test_parameters_that_jax_changed_are_an_error_for_the_caller_to_catch():
    with pytest.raises(KeyError):
        equation_flops("dot_general", [(4, 3), (3, 5)], [(4, 5)], {})


def test_a_primitive_is_uncounted_without_a_formula_and_without_equations_inside():
    primitives = (("add", None), ("ffi_call", None), ("a_call", None), ("mul", 2), ("eigh", None))
    primitives += (("pure_callback", None), ("debug_print", None))
    equations = [
        Equation(number, name, None, (), Phase.PRIMAL, parent=parent)
        for number, (name, parent) in enumerate(primitives)
    ]
    assert uncounted(equations) == ("ffi_call", "pure_callback")
    assert uncounted(equations, lambda one: one.id in (0, 2, 3)) == ()
