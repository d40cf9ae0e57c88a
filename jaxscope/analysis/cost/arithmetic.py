"""FLOPs of one instruction from its shapes and attributes.

The formulas are those of xla/service/hlo_cost_analysis.cc; the handler is named at each. Where XLA
counts an operation with complex numbers as one, its real operations are counted.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from jaxscope.analysis.hlo import Instruction, Shape, numbers

# HandleElementwiseOp, HandleRng: one transcendental per element, no FLOPs.
TRANSCENDENTAL = frozenset({
    "erf", "exponential", "log", "logistic", "power", "sqrt", "cbrt", "rsqrt", "tanh", "sine",
    "cosine", "exponential-minus-one", "log-plus-one", "atan2", "tan", "rng", "rng-bit-generator",
})  # fmt: skip

# HandleElementwiseOp: one FLOP per element, of any type. HandleAllReduce assumes two replicas: one
# addition per element.
ELEMENTWISE = frozenset({
    "abs", "add", "all-reduce", "all-reduce-start", "and", "bitcast-convert", "ceil", "clamp",
    "compare", "complex", "convert",
    "count-leading-zeros", "divide", "floor", "imag", "is-finite", "maximum", "minimum",
    "multiply", "negate", "not", "or", "popcnt", "real", "reduce-precision", "remainder",
    "round-nearest-afz", "round-nearest-even", "select", "shift-left", "shift-right-arithmetic",
    "shift-right-logical", "sign", "stochastic-convert", "subtract", "xor",
})  # fmt: skip

# kFmaFlops: a multiply and an add.
_FMA = 2

# Of the schoolbook formulas; a division multiplies by the conjugate.
_REAL_OPERATIONS = {
    "add": 2, "subtract": 2, "negate": 2, "multiply": 6, "divide": 11, "abs": 4, "compare": 2,
}  # fmt: skip
_PRODUCTS = frozenset({"dot", "ragged-dot", "convolution", "cholesky", "triangular-solve"})

_WINDOW_FIELD = re.compile(r"(\w+)=([^\s{}]+)")


@dataclass(frozen=True, slots=True)
class CostCounts:
    """The cost of one run: three counts, added by field."""

    flops: float = 0.0
    transcendentals: float = 0.0
    bytes_accessed: float = 0.0

    @property
    def work(self) -> float:
        return self.flops + self.transcendentals

    def __add__(self, other: "CostCounts") -> "CostCounts":
        return CostCounts(
            self.flops + other.flops,
            self.transcendentals + other.transcendentals,
            self.bytes_accessed + other.bytes_accessed,
        )

    def __mul__(self, times: float) -> "CostCounts":
        return CostCounts(
            self.flops * times, self.transcendentals * times, self.bytes_accessed * times
        )

    def most(self, other: "CostCounts") -> "CostCounts":
        """The larger of each figure by itself, as XLA does for the branches of a conditional."""
        return CostCounts(
            max(self.flops, other.flops),
            max(self.transcendentals, other.transcendentals),
            max(self.bytes_accessed, other.bytes_accessed),
        )


def real_operations(opcode: str, operands: Sequence[Shape]) -> int:
    """Real operations of one operation of that opcode: of a complex multiply-add four times two."""
    if not operands or not operands[0].dtype.startswith("c"):
        return 1
    return 4 if opcode in _PRODUCTS else _REAL_OPERATIONS.get(opcode, 1)


def dot_flops(instruction: Instruction, operands: Sequence[Shape]) -> float:
    """GetDotFlops: two per element of the result and of the contracted dimensions."""
    lhs = operands[0]
    dims = numbers(instruction.attribute("lhs_contracting_dims"))
    return _FMA * instruction.shape.elements * math.prod(lhs.dims[dim] for dim in dims)


def fft_flops(instruction: Instruction, operands: Sequence[Shape]) -> float:
    """5 n log2 n real operations, half for real data.

    The convention of the FFTW benchmark (http://www.fftw.org/speed/method.html).
    """
    points = max(operands[0].elements, instruction.shape.elements)
    length = math.prod(numbers(instruction.attribute("fft_length")))
    is_real = "RFFT" in (instruction.attribute("fft_type") or "")
    return 5 * points * math.log2(length) / (2 if is_real else 1) if length > 1 else 0.0


def sort_flops(operands: Sequence[Shape]) -> float:
    """HandleSort: n log n comparisons of all elements, even where many short rows are sorted."""
    elements = operands[0].elements
    return elements * max(0, elements - 1).bit_length()


def cholesky_flops(operands: Sequence[Shape]) -> float:
    """HandleCholesky: a third of n cubed per matrix."""
    return operands[0].dims[-1] * operands[0].elements // 3


def triangular_solve_flops(operands: Sequence[Shape]) -> float:
    """HandleTriangularSolve: two per element of the right-hand side and row of the matrix."""
    return _FMA * operands[0].dims[-1] * operands[1].elements


def window_sizes(instruction: Instruction) -> tuple[int, ...]:
    """The sizes of `window={size=2x3 ...}`; empty without a window."""
    size = _window(instruction).get("size")
    return tuple(map(int, size.split("x"))) if size else ()


def reduce_window_applications(instruction: Instruction, output: Shape) -> int:
    """HandleReduceWindow: the number of applications of the reducing function.

    Each output element takes one application less than its window has elements. A window that
    spans the whole dimension from every position (a reduction broadcast back) counts as one pass.
    """
    sizes = window_sizes(instruction)
    elements = math.prod(sizes)
    count = (elements - 1) * output.elements
    pads = _pads(instruction, len(sizes))
    reduced = [dim for dim, size in enumerate(sizes) if size != 1]
    padded = [dim for dim, pad in enumerate(pads) if pad != (0, 0)]
    if len(reduced) == 1 and reduced == padded and not instruction.shape.is_tuple:
        dim = reduced[0]
        low, high = pads[dim]
        span = output.dims[dim]
        if low == high == span - 1 and sizes[dim] == 2 * low + 1:
            return output.elements // span + span - 1
    return count


def convolution_flops(instruction: Instruction, operands: Sequence[Shape], output: Shape) -> float:
    """GetConvolutionFlops: two per pair of a kernel point and the input point that it meets.

    Padding, and points between the elements of a dilated input, are not counted.
    """
    labels = re.match(r"(\w+)_(\w+)->(\w+)", instruction.attribute("dim_labels") or "")
    if labels is None:
        return 0.0
    lhs, rhs = operands[0], operands[1]
    spatial = [label for label in labels[1] if label.isdigit()]
    window = _window(instruction)
    pads = _pads(instruction, len(spatial))
    strides = _factors(window.get("stride"), len(spatial))
    input_dilations = _factors(window.get("lhs_dilate"), len(spatial))
    kernel_dilations = _factors(window.get("rhs_dilate"), len(spatial))
    positions = 1
    for number, label in enumerate(sorted(spatial, key=int)):
        positions *= _valid_positions(
            inputs=lhs.dims[labels[1].index(label)],
            kernel=rhs.dims[labels[2].index(label)],
            outputs=output.dims[labels[3].index(label)],
            pad=pads[number][0],
            stride=strides[number],
            dilation=input_dilations[number],
            kernel_dilation=kernel_dilations[number],
        )
    groups = int(instruction.attribute("feature_group_count") or 1)
    batch_groups = int(instruction.attribute("batch_group_count") or 1)
    input_features = lhs.dims[labels[1].index("f")] // groups
    output_features = output.dims[labels[3].index("f")]
    batch = lhs.dims[labels[1].index("b")] // batch_groups
    return _FMA * input_features * output_features * batch * positions


def _valid_positions(
    *,
    inputs: int,
    kernel: int,
    outputs: int,
    pad: int,
    stride: int,
    dilation: int,
    kernel_dilation: int,
) -> int:
    """Pairs of kernel and output index along one dimension that meet a real input element."""
    count = 0
    for kernel_index in range(kernel):
        # The dilated input index is first + output_index * stride; it is a real element if it is
        # a multiple of the dilation and at most `last`. Solved for the output index in one step,
        # because a long sequence has kernels and outputs of thousands.
        first = kernel_index * kernel_dilation - pad
        last = (inputs - 1) * dilation
        period = dilation // math.gcd(stride, dilation)
        start = next((o for o in range(period) if (first + o * stride) % dilation == 0), None)
        if start is None:
            continue
        low = max(0, -(first // stride))
        high = min(outputs - 1, (last - first) // stride)
        begin = start + -(-max(0, low - start) // period) * period
        if begin <= high:
            count += (high - begin) // period + 1
    return count


def _window(instruction: Instruction) -> dict[str, str]:
    return dict(_WINDOW_FIELD.findall(instruction.attribute("window") or ""))


def _pads(instruction: Instruction, count: int) -> list[tuple[int, int]]:
    text = _window(instruction).get("pad")
    if text is None:
        return [(0, 0)] * count
    pairs = (piece.split("_") for piece in text.split("x"))
    return [(int(low), int(high)) for low, high in pairs]


def _factors(text: str | None, count: int) -> list[int]:
    return list(map(int, text.split("x"))) if text else [1] * count
