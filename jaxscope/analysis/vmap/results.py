"""The result of a batching rule, read from an equation.

JAX's calls in the traceback tell the function that the code called: the select of a batched `cond`
still comes from `cond`, and a loop without a loop function was inserted by a batching rule.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from jaxscope.analysis.jaxpr.dataflow import Region, RegionStep
from jaxscope.analysis.vmap.axes import TracebackReader
from jaxscope.model import BatchingResult

Calls = Sequence[tuple[str, str]]
"""JAX's own calls that made an equation, innermost first: file and function."""

_LIBRARY = frozenset({
    "cholesky", "eig", "eigh", "geqp3", "geqrf", "hessenberg", "householder_product", "lu", "qr",
    "schur", "svd", "symmetric_product", "triangular_solve", "tridiagonal", "tridiagonal_solve",
})  # fmt: skip
_CHOOSING = frozenset({"cond", "_cond", "switch", "_switch_internal"})
# The user's name of a function, where it has a different name in JAX's source.
_BY_FILE = {"custom_batching.py": "custom_vmap", "ffi.py": "ffi_call"}
_MACHINERY = frozenset(
    {"core.py", "partial_eval.py", "source_info_util.py", "traceback_util.py", "profiler.py"}
)
_MOVING = frozenset({"broadcast_in_dim", "convert_element_type", "copy", "reshape", "squeeze"})
_REDUCES = {"pmax": "takes the largest", "pmin": "takes the smallest"}


class ResultForm(NamedTuple):
    """See the fields of `model.BatchedEquation`."""

    result: BatchingResult | None
    detail: str = ""
    function: str = ""


NO_RESULT = ResultForm(None)
_LARGER = ResultForm(BatchingResult.EXTRA_BATCH_DIMENSION)


def result_of(
    region: Region,
    step: RegionStep,
    operands: Sequence[int],
    sizes: Sequence[int | None],
    tracebacks: TracebackReader,
) -> ResultForm:
    """The batching result of a batched equation; no result for a call that only contains others.

    `operands` are the masks of axes of its operands, `sizes` the sizes of its axes.
    """

    def calls() -> Calls:
        made = tracebacks.jax_calls(step.traceback)
        return [call for call in made if call[0] not in _MACHINERY]

    def called(wanted: str) -> str:
        """The function that the code called, where it differs from the primitive."""
        return f"from {wanted}" if any(name == wanted for _, name in calls()) else ""

    match step.primitive:
        case "dot_general":
            return _product(region, step, operands)
        case "conv_general_dilated" if operands[1] and _groups(step) > 1:
            return ResultForm(BatchingResult.GROUPED_CONVOLUTION, f"{_groups(step)} groups")
        case "gather" if operands[1]:
            return ResultForm(BatchingResult.GATHER, called("dynamic_slice"))
        case name if name.startswith("scatter") and operands[1]:
            return ResultForm(BatchingResult.SCATTER, called("dynamic_update_slice"))
        case "select_n":
            return _select(region, step, calls())
        case "scan":
            return _loop(int(step.params["length"]), sizes, calls())
        case "debug_callback" | "debug_print":
            return ResultForm(BatchingResult.SEQUENTIAL_LOOP, "one call per example")
        case "pure_callback" | "io_callback" | "ffi_call":
            return ResultForm(_LARGER.result, "called once for the whole batch")
        case name if name in _LIBRARY:
            shape = _shape(region, step.inputs[0])
            one = shape[-2:] if len(shape) > 2 else shape[-1:]  # diagonals are vectors
            number = math.prod(shape[: -len(one)])
            detail = f"{number} × ({'×'.join(map(str, one))}) in one call"
            return ResultForm(BatchingResult.BATCHED_LIBRARY_CALL, detail)
        case name if step.inner and not name.startswith(("reduce", "scatter", "select_and")):
            return NO_RESULT
        case _:
            return _LARGER


def reduced(step: RegionStep, names: Sequence[str]) -> ResultForm:
    """A collective over the axis of a vmap, which is a reduction over the batch on one device.

    `names` are its axes where the batch has others as well.
    """
    does = _REDUCES.get(step.primitive, "sums")
    return ResultForm(_LARGER.result, f"{does} over {' and '.join(names) or 'the batch'}")


def _product(region: Region, step: RegionStep, operands: Sequence[int]) -> ResultForm:
    (contracted, _), (batch, batch_right) = step.params["dimension_numbers"]
    left, right = (_shape(region, value) for value in step.inputs[:2])
    between = math.prod(left[axis] for axis in contracted)
    many = math.prod(left[axis] for axis in batch)
    rows = math.prod(left) // max(1, between * many)
    columns = math.prod(right) // max(1, between * math.prod(right[a] for a in batch_right))
    one = f"({rows}×{between}) · ({between}×{columns})"
    if batch and operands[0] & operands[1]:
        return ResultForm(BatchingResult.BATCHED_DOT_GENERAL, f"{many} × {one}")
    return ResultForm(BatchingResult.DOT_GENERAL, one if many == 1 else f"{many} × {one}")


def _select(region: Region, step: RegionStep, calls: Calls) -> ResultForm:
    asked = [name for file, name in calls if file == "conditionals.py"]
    which = step.inputs[0]
    # Operands are selected too, by a bool, so that the branch not taken computes with safe values.
    if not asked or which < 0 or region.values[which].aval.startswith("bool"):
        return _LARGER
    # An equation that was evaluated again has the traceback of the `cond` itself. One with none of
    # both is code inside a branch.
    if ("conditionals.py", "_cond_batching_rule") not in calls and calls[0][0] != "conditionals.py":
        return _LARGER
    if not any(_is_computed(region, value) for value in step.inputs[1:]):
        return _LARGER  # its branches only choose between values from outside
    own = calls[-1][0] == "conditionals.py" and asked[-1] in _CHOOSING
    function = asked[-1].removeprefix("_").removesuffix("_internal") if own else ""
    detail = f"{len(step.inputs) - 1} branches"
    return ResultForm(BatchingResult.SELECT_ALL_BRANCHES, detail, function)


def _is_computed(region: Region, value: int) -> bool:
    """Whether a branch of a batched `cond` computes the value, not only returns an operand."""
    while (made := region.makers.get(value)) is not None:
        step = made[0]
        if step.primitive == "select_n" and _is_operand(region, step):
            return False
        if step.primitive not in _MOVING:
            return True
        value = step.inputs[0]
    return False


def _is_operand(region: Region, step: RegionStep) -> bool:
    """Whether it selects between an operand and its `stop_gradient`, as the rule of `cond` does."""
    cases: set[int] = set()
    for value in step.inputs[1:]:
        made = region.makers.get(value)
        is_stopped = made is not None and made[0].primitive == "stop_gradient"
        cases.add(made[0].inputs[0] if made is not None and is_stopped else value)
    return len(cases) == 1


def _loop(length: int, sizes: Sequence[int | None], calls: Calls) -> ResultForm:
    """A scan that a batching rule inserted: as long as the batch, and without a loop function."""
    if length not in sizes:
        return NO_RESULT
    batched = [i for i, call in enumerate(calls) if call == ("batching.py", "process_primitive")]
    asked = calls[batched[-1] + 1 :] if batched else calls
    if not asked or any(file == "loops.py" for file, _ in asked):
        return NO_RESULT
    file, name = asked[0]
    detail = f"{length} iterations of one example"
    return ResultForm(BatchingResult.SEQUENTIAL_LOOP, detail, _BY_FILE.get(file, name))


def _groups(step: RegionStep) -> int:
    params = step.params
    return max(int(params["feature_group_count"]), int(params["batch_group_count"]))


def _shape(region: Region, value: int) -> tuple[int, ...]:
    return region.values[value].shape if value >= 0 else ()
