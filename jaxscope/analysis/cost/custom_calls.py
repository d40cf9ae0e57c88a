"""The cost of custom calls to known library routines, from textbook formulas.

Counts of the LAPACK routines are the leading terms in "LAPACK Working Note 41" (appendix C), those
of iterative decompositions are from Golub and Van Loan, "Matrix Computations". They measure the
problem, not an implementation. A complex operation counts as four.
"""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from jaxscope.analysis.cost.arithmetic import (
    CostCounts,
    convolution_flops,
    real_operations,
    triangular_solve_flops,
)
from jaxscope.analysis.hlo import Instruction, Shape, numbers

_LAWN41 = "LAPACK Working Note 41"
_GOLUB = "Golub and Van Loan"

# lapack_spotrf_ffi, cusolver_potrf_ffi, hipsolver_syevd_ffi, ...
_ROUTINE = re.compile(r"(?:lapack_[sdcz]|(?:cusolver|hipsolver|magma|cublas)_)(\w+?)(?:_ffi)?$")
_GEMM = re.compile(r"__(cublas\$(gemm|lt\$matmul.*)|onednn\$matmul.*)$")
_CONVOLUTION = re.compile(r"__cudnn\$conv(\w+)$")
_ATTENTION = re.compile(r"__cudnn\$fmha\w*?(Backward)?$")
_SCORES = re.compile(r'intermediate_tensor_shape\\?":\s*\{\\?"dimensions\\?":\s*\[([^\]]*)\]')
_CAUSAL = re.compile(r'mask_type\\?":\s*\\?"(?:PADDING_)?CAUSAL')
_CONTRACTING = re.compile(r'lhs_contracting_dimensions\\?":\s*\[([^\]]*)\]')
_EPILOGUE = re.compile(r'"epilogue\\?":\s*\\?"(\w+)')
_EXACT_EPILOGUES = ("", "DEFAULT", "BIAS")
_ACTIVATION = re.compile(r'"activation_mode\\?":\s*\\?"(\w+)')
_SIDE_INPUT = re.compile(r'"side_input_scale\\?":\s*(?!0[,}.])')

# Annotations for the compiler, which run nothing.
_WITHOUT_WORK = frozenset({
    "Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape", "annotate_device_placement",
    "LayoutConstraint", "AllocateBuffer", "AssumeGatherIndicesInBound",
    "xla.sdy.FuncResultSharding", "xla.sdy.GlobalToLocalShape", "xla.sdy.LocalToGlobalShape",
})  # fmt: skip

# Other names of the same routines: TPU's, cuSOLVER's, and LAPACK's complex ones.
_SYNONYMS = {
    "Cholesky": "potrf", "LuDecomposition": "getrf", "Qr": "geqrf", "Eigh": "syevd",
    "ProductOfElementaryHouseholderReflectors": "orgqr",
    "ungqr": "orgqr", "heevd": "syevd", "syevj": "syevd", "hetrd": "sytrd",
    "gesvd": "gesdd", "gesvdj": "gesdd", "gesvdp": "gesdd", "trsm_batched": "trsm",
    "getrf_batched": "getrf", "geqrf_batched": "geqrf", "geqp3": "geqrf",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class CustomCallCost:
    """The estimated cost of a custom call."""

    cost: CostCounts
    basis: str
    """The formula with its source; empty where nothing is estimated."""


# FLOPs of one m by n matrix, m ≥ n; the formula as shown; its source.
_MATRIX_ROUTINES: dict[str, tuple[Callable[[int, int], float], str, str]] = {
    "potrf": (lambda _, n: n**3 / 3, "n^3/3", _LAWN41),
    "getrf": (lambda m, n: m * n**2 - n**3 / 3, "m n^2 - n^3/3", _LAWN41),
    "geqrf": (lambda m, n: 2 * m * n**2 - 2 * n**3 / 3, "2 m n^2 - 2 n^3/3", _LAWN41),
    "gehrd": (lambda _, n: 10 * n**3 / 3, "10 n^3/3", _LAWN41),
    "sytrd": (lambda _, n: 4 * n**3 / 3, "4 n^3/3", _LAWN41),
    "gesdd": (lambda m, n: 6 * m * n**2 + 20 * n**3, "6 m n^2 + 20 n^3, with vectors", _GOLUB),
    "syevd": (lambda _, n: 9.0 * n**3, "9 n^3, with vectors", _GOLUB),
    "geev": (lambda _, n: 25.0 * n**3, "25 n^3, with vectors", _GOLUB),
    "gees": (lambda _, n: 25.0 * n**3, "25 n^3", _GOLUB),
}

# The same where only the values are computed: of LAPACK the job "N" (78), of cuSOLVER no U and V.
_ONLY_VALUES: dict[str, tuple[Callable[[int, int], float], str, str]] = {
    "gesdd": (lambda m, n: 4 * m * n**2 - 4 * n**3 / 3, "4 m n^2 - 4 n^3/3", _GOLUB),
    "syevd": (lambda _, n: 4 * n**3 / 3, "4 n^3/3", _GOLUB),
    "geev": (lambda _, n: 10.0 * n**3, "10 n^3", _GOLUB),
}
_VECTORS = re.compile(r"\b(?:mode|compute_left|compute_right|compute_uv) = (\w+)")


def estimate_custom_call(
    instruction: Instruction, operands: Sequence[Shape]
) -> CustomCallCost | None:
    """The cost of a custom call; None for an unknown target."""
    target = instruction.custom_call_target or ""
    if target in _WITHOUT_WORK:
        return CustomCallCost(CostCounts(), "")
    counted = _counted_flops(target, instruction, operands)
    if counted is None:
        return None
    flops, basis = counted
    # The other result of a library of NVIDIA's is room to work in, up to 32 MB, most of it unused.
    results = instruction.shape.leaves[:1] if target.startswith("__cu") else (instruction.shape,)
    moved = sum(shape.bytes for shape in (*results, *operands))
    return CustomCallCost(CostCounts(flops, 0.0, moved), basis)


def _counted_flops(
    target: str, instruction: Instruction, operands: Sequence[Shape]
) -> tuple[float, str] | None:
    if not operands or len(operands[0].dims) < 1:
        return None
    if _GEMM.match(target):
        return _gemm(instruction, operands)
    convolution = _CONVOLUTION.match(target)
    if convolution is not None:
        return _convolution(convolution[1], instruction, operands)
    if target == "__cublas$triangularSolve":
        return triangular_solve_flops(operands), ""
    if target == "cu_lu_pivots_to_permutation":
        return 0.0, ""  # it moves integers
    attention = _ATTENTION.match(target)
    if attention is not None:
        return _attention(instruction, operands, backward=bool(attention[1]))
    if target in ("TopK", "__gpu$TopK"):
        chosen = instruction.shape.leaves[0].dims[-1]
        return operands[0].elements * math.ceil(math.log2(max(2, chosen))), "n log2 k comparisons"
    routine = _ROUTINE.match(target)
    name = routine[1] if routine else target
    vectors = _VECTORS.findall(instruction.attributes_text)
    only_values = bool(vectors) and all(each in ("78", "false") for each in vectors)
    return _linear_algebra(_SYNONYMS.get(name, name), operands, only_values)


def _linear_algebra(
    name: str, operands: Sequence[Shape], only_values: bool
) -> tuple[float, str] | None:
    matrix = operands[0]
    if len(matrix.dims) < 2:
        return None
    m, n = matrix.dims[-2:]
    factor = 4 if matrix.dtype.startswith("c") else 1
    batch = math.prod(matrix.dims[:-2]) * factor
    if name == "trsm" and len(operands) > 1:
        return factor * n * operands[1].elements, f"m n^2 ({_LAWN41})"
    if name == "orgqr" and len(operands) > 1:
        k = operands[1].dims[-1]
        flops = 4 * m * n * k - 2 * (m + n) * k**2 + 4 * k**3 / 3
        return batch * flops, f"4 m n k - 2 (m+n) k^2 + 4 k^3/3 ({_LAWN41})"
    if name not in _MATRIX_ROUTINES:
        return None
    routines = _MATRIX_ROUTINES | (_ONLY_VALUES if only_values else {})
    count, formula, source = routines[name]
    return batch * count(max(m, n), min(m, n)), f"{formula} ({source})"


def _gemm(instruction: Instruction, operands: Sequence[Shape]) -> tuple[float, str] | None:
    """Two per element of the result and of the contracted dimensions, as for a dot, and one per
    element for a bias. What an activation inside the call costs is unknown."""
    named = _CONTRACTING.search(instruction.attributes_text)
    epilogue = match[1] if (match := _EPILOGUE.search(instruction.attributes_text)) else ""
    lhs = operands[0]
    dims = numbers(named[1]) if named else (len(lhs.dims) - 1,)
    result = instruction.shape.leaves[0]
    each = 2 * real_operations("dot", operands)
    flops = each * result.elements * math.prod(lhs.dims[dim] for dim in dims)
    if named and epilogue in _EXACT_EPILOGUES:
        return flops + result.elements * (epilogue == "BIAS"), ""
    return flops, f"{each} m n k"


def _convolution(
    direction: str, instruction: Instruction, operands: Sequence[Shape]
) -> tuple[float, str] | None:
    """A gradient convolution pairs the same points as the forward one of its window."""
    if len(operands) < 2:
        return None
    result = instruction.shape.leaves[0]
    inputs, kernel, output = operands[0], operands[1], result
    if direction == "BackwardInput":
        inputs, output = result, operands[0]
    elif direction == "BackwardFilter":
        kernel, output = result, operands[1]
    flops = convolution_flops(instruction, (inputs, kernel), output)
    if direction in ("Forward", "BackwardInput", "BackwardFilter"):
        return flops, ""
    activation = match[1] if (match := _ACTIVATION.search(instruction.attributes_text)) else ""
    if activation in ("kNone", "kRelu") and not _SIDE_INPUT.search(instruction.attributes_text):
        # A bias is added, and the rectifier is a maximum.
        return flops + result.elements * (1 + (activation == "kRelu")), ""
    return flops, "2 per pair of points"


def _attention(
    instruction: Instruction, operands: Sequence[Shape], *, backward: bool
) -> tuple[float, str] | None:
    """Two products of all pairs of positions, five in the backward pass; half with a causal mask.

    Source: T. Dao, "FlashAttention-2", 2023, section 4.1. The softmax is not counted.
    """
    scores = _SCORES.search(instruction.attributes_text)
    if scores is None:
        return None
    pairs = math.prod(numbers(scores[1])) * operands[0].dims[-1]
    causal = bool(_CAUSAL.search(instruction.attributes_text))
    products = 5 if backward else 2
    basis = f"{2 * products} s t d per head{' / 2, causal' if causal else ''} (FlashAttention-2)"
    return 2 * products * pairs / (1 + causal), basis
