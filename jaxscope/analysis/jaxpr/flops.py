"""FLOPs of equations and regions of a jaxpr, from their shapes.

These are estimates, made before XLA: an operation that XLA fuses, folds or shares counts in full. A
transcendental counts as one operation per element. Data movement (reshapes, slices, gathers,
broadcasts) counts as nothing, and so does a primitive without a formula: `uncounted` names those.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from jaxscope.analysis.jaxpr.autodiff_phase import Passes, phase
from jaxscope.analysis.jaxpr.dataflow import Region, RegionStep
from jaxscope.model import Equation, Phase

Shape = tuple[int, ...]

_FREE_NAMES = """
    broadcast_in_dim reshape squeeze expand_dims transpose slice dynamic_slice dynamic_update_slice
    concatenate pad gather scatter copy copy_p iota convert_element_type bitcast_convert_type
    reduce_precision rev split stop_gradient optimization_barrier name device_put empty empty2
    create_token after_all pvary sharding_constraint real imag complex random_wrap random_unwrap
    random_seed threefry2x32 rng_bit_generator
    debug_callback debug_print all_gather all_to_all ppermute axis_index
    mesh_cast reshard layout_constraint pbroadcast pcast tie_in zeros_like broadcast_to stack
    unstack tile platform_index dimension_size iota_2x32_shape lu_pivots_to_permutation random_clone
    get swap new_ref empty_ref free_ref freeze with_memory_space_constraint inspect_sharding
    bcoo_transpose all_gather_invariant pbroadcast_dynamic vary_unreduced_cast reduced_vary_cast
    relayout xla_metadata_value
"""
_FREE = frozenset(_FREE_NAMES.split())
_OF_INPUT_NAMES = """
    reduce_sum reduce_max reduce_min reduce_prod reduce_and reduce_or reduce_xor argmax argmin
    cumsum cumprod cummax cummin cumlogsumexp reduce reduce_window reduce_window_sum
    reduce_window_max reduce_window_min select_and_scatter_add select_and_gather_add psum
    psum_invariant pmax pmin reduce_scatter unreduced_psum unreduced_pmax unreduced_pmin
    unreduced_reduce_scatter
"""
_OF_INPUT = frozenset(_OF_INPUT_NAMES.split())
_ELEMENTWISE_NAMES = """
    abs acos acosh add add_any addupdate and asin asinh atan atan2 atanh bessel_i0e bessel_i1e cbrt
    ceil clamp clz conj cos cosh digamma div eq eq_to erf erf_inv erfc exp exp2 expm1 floor ge gt
    igamma igamma_grad_a igammac is_finite le le_to lgamma log log1p log2 logistic lt lt_to max min
    mul mulhi ne neg nextafter not or polygamma population_count pow random_gamma reciprocal
    regularized_incomplete_beta rem rng_uniform round rsqrt select_n shift_left
    shift_right_arithmetic shift_right_logical sign sin sinh sqrt square sub tan tanh xor zeta
"""
_ELEMENTWISE = frozenset(_ELEMENTWISE_NAMES.split())
_WITH_FORMULA_NAMES = """
    dot_general ragged_dot_general conv_general_dilated bcoo_dot_general scatter-add scatter_add
    scatter-mul scatter_mul scatter-sub scatter_sub scatter-min scatter_min scatter-max scatter_max
    integer_pow one_minus_square polynomial sort top_k fft cholesky triangular_solve lu
    householder_product geqrf qr svd eigh eig schur hessenberg tridiagonal
"""
_CALL_NAMES = """
    jit pjit closed_call core_call call remat remat2 checkpoint custom_jvp_call custom_vjp_call
    custom_lin shard_map scan while cond
"""
_OF_SQUARE = {"eigh": 9.0, "eig": 25.0, "schur": 25.0, "hessenberg": 10 / 3, "tridiagonal": 4 / 3}
"""FLOPs of a decomposition of an n by n matrix, by n³."""
RANDOM = frozenset({"random_bits", "random_fold_in", "random_split"})
_OF_KEY = {"key<fry>": (200.0, 200.0), "key<rbg>": (37.25, 397.0), "key<urbg>": (37.25, 1490.0)}
"""Integer operations per number and per new key, as XLA counts them on the CPU; measured on jaxlib
0.10.2. A device with a generator of its own does less."""
_COUNTED = frozenset(
    (
        *RANDOM,
        *_FREE,
        *_OF_INPUT,
        *_ELEMENTWISE,
        *_WITH_FORMULA_NAMES.split(),
        *_CALL_NAMES.split(),
    )
)


def equation_flops(
    primitive: str,
    inputs: Sequence[Shape],
    outputs: Sequence[Shape],
    params: Mapping[str, Any],
    key: str = "key<fry>",
) -> float:
    """FLOPs of one execution; `key` is the dtype of the random key that it takes.

    Raises for parameters that differ from those of today's JAX.
    """
    if primitive in _FREE:
        return 0.0
    out = float(math.prod(outputs[0])) if outputs else 0.0
    if primitive in _ELEMENTWISE:
        return out
    if primitive in RANDOM:
        return _OF_KEY.get(key, (0.0, 0.0))[primitive != "random_bits"] * out
    if primitive in _OF_INPUT:
        return float(math.prod(inputs[0]))
    match primitive:
        case "dot_general" | "ragged_dot_general":
            (contracted, _), _ = params["dimension_numbers"]
            return 2.0 * out * math.prod(inputs[0][axis] for axis in contracted)
        case "conv_general_dilated":
            kernel = inputs[1]
            features = kernel[params["dimension_numbers"].rhs_spec[0]]
            return 2.0 * out * math.prod(kernel) / features
        case "bcoo_dot_general":  # each stored element by a row of the other side
            data, indices, rhs = inputs
            (_, contracted), (_, batch) = params["dimension_numbers"]
            batches = len(indices) - 2
            stored = math.prod((*params["lhs_spinfo"].shape[:batches], *data[batches:]))
            free = (rhs[axis] for axis in range(len(rhs)) if axis not in (*contracted, *batch))
            return 2.0 * stored * math.prod(free)
        case name if name.startswith("scatter"):
            return float(math.prod(inputs[2]))
        case "integer_pow":  # multiplications by repeated squaring
            power = abs(int(params["y"]))
            return out * max(0, power.bit_length() - 1 + power.bit_count() - 1)
        case "one_minus_square":  # (1 + x) (1 - x)
            return 3.0 * out
        case "polynomial":  # Horner's rule, of the variable and its coefficients
            return 2.0 * out * (len(inputs) - 2)
        case "sort" | "top_k":
            size = math.prod(inputs[0])
            along = inputs[0][int(params.get("dimension", -1))] if inputs[0] else 1
            return size * max(1.0, math.log2(max(along, 2)))
        case "fft":
            size = math.prod(params["fft_lengths"])
            return 5.0 * max(out, math.prod(inputs[0])) * math.log2(max(size, 2))
        case "cholesky":
            return _batches(inputs[0]) * inputs[0][-1] ** 3 / 3
        case "triangular_solve":
            return float(math.prod(inputs[1])) * inputs[0][-1]
        case "lu":
            m, n = _sides(inputs[0])
            return _batches(inputs[0]) * (m * n**2 - n**3 / 3)
        case "householder_product" | "geqrf" | "qr":
            return 2.0 * math.prod(inputs[0]) * min(inputs[0][-2:])
        # The iterative ones: Golub and Van Loan, Matrix Computations, as of the compiled program.
        case "svd":
            m, n = _sides(inputs[0])
            vectors = params.get("compute_uv", True)
            each = 6 * m * n**2 + 20 * n**3 if vectors else 4 * m * n**2 - 4 * n**3 / 3
            return _batches(inputs[0]) * each
        case "eig" if not (
            params.get("compute_left_eigenvectors") or params.get("compute_right_eigenvectors")
        ):
            return 10.0 * _batches(inputs[0]) * inputs[0][-1] ** 3
        case "eigh" | "eig" | "schur" | "hessenberg" | "tridiagonal":
            return _OF_SQUARE[primitive] * _batches(inputs[0]) * inputs[0][-1] ** 3
        case _:
            return 0.0


def uncounted(
    equations: Sequence[Equation], among: Callable[[Equation], bool] = lambda _: True
) -> tuple[str, ...]:
    """Primitives without a formula among a program's equations: a sum of FLOPs leaves them out.

    Not those that are counted by the equations inside them.
    """
    parents = {equation.parent for equation in equations}
    found = (
        equation.primitive
        for equation in equations
        if equation.primitive not in _COUNTED and equation.id not in parents and among(equation)
    )
    return tuple(dict.fromkeys(found))


def _sides(shape: Shape) -> tuple[int, int]:
    """The longer and the shorter side of a matrix."""
    return max(shape[-2:]), min(shape[-2:])


def _batches(shape: Shape) -> float:
    return float(math.prod(shape[:-2]))


def step_flops(step: RegionStep) -> float:
    """FLOPs of one execution of a step and its inner regions; of a `cond`, of its costliest
    branch."""
    inner = [region_flops(inner.region) * inner.times for inner in step.inner]
    return max(inner, default=0.0) if step.primitive == "cond" else step.flops + sum(inner)


def region_flops(region: Region) -> float:
    """FLOPs of one execution of a region."""
    return sum(step_flops(step) for step in region.steps)


def flops_by_phase(region: Region) -> dict[Phase, float]:
    """FLOPs of one run of a program; phases without any are left out.

    Loops count as often as they run; one with an unknown number of iterations counts once.
    """
    # Equal regions inside equal passes are summed once: the layers of a model share them.
    known: dict[tuple[int, Passes], dict[Phase, float]] = {}

    def of_region(inside: Region, around: Passes) -> dict[Phase, float]:
        key = (id(inside), around)
        if key not in known:
            sums: dict[Phase, float] = {}
            for step in inside.steps:
                _add(sums, of_step(step, around + step.passes))
            known[key] = sums
        return known[key]

    def of_step(step: RegionStep, passes: Passes) -> dict[Phase, float]:
        parts = [(of_region(inner.region, passes), inner.times) for inner in step.inner]
        if parts and step.primitive == "cond":
            return max((sums for sums, _ in parts), key=lambda sums: sum(sums.values()))
        found = {phase(passes): step.flops} if step.flops else {}
        for sums, times in parts:
            _add(found, sums, times)
        return found

    return of_region(region, ())


def _add(total: dict[Phase, float], more: Mapping[Phase, float], times: float = 1.0) -> None:
    for one, flops in more.items():
        if flops and times:
            total[one] = total.get(one, 0.0) + flops * times
