"""What an operation on one example became on the batch, read from its equation.

JAX's calls in the traceback tell what the code asked for: the select of a batched `cond` still
comes from `cond`, and a loop that no loop function of JAX asked for was put in by a batching rule.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from jaxscope.capture import _jax
from jaxscope.capture.jaxpr.bodies import Entry
from jaxscope.model import Turn

_LIBRARY = frozenset({
    "cholesky", "eig", "eigh", "geqp3", "geqrf", "hessenberg", "householder_product", "lu", "qr",
    "schur", "svd", "symmetric_product", "triangular_solve", "tridiagonal", "tridiagonal_solve",
})  # fmt: skip
_CHOOSING = frozenset({"cond", "_cond", "switch", "_switch_internal"})


@dataclass(frozen=True, slots=True)
class Form:
    """See the fields of `model.BatchedEquation`."""

    turn: Turn
    detail: str = ""
    cause: str = ""


def became(entry: Entry, operands: Sequence[int], sizes: Sequence[int | None]) -> Form | None:
    """What an equation that depends on batches is; None for a call that only holds others.

    `operands` are the masks of axes that its operands depend on, `sizes` those of the axes.
    """
    match entry.primitive:
        case "dot_general":
            return _product(entry, operands)
        case "conv_general_dilated" if operands[1] and _groups(entry) > 1:
            return Form(Turn.GROUPED, f"{_groups(entry)} groups")
        case "gather" if operands[1]:
            return Form(Turn.GATHER, _asked(entry, "dynamic_slice"))
        case name if name.startswith("scatter") and operands[1]:
            return Form(Turn.SCATTER, _asked(entry, "dynamic_update_slice"))
        case "select_n":
            return _choice(entry)
        case "scan":
            return _loop(entry, sizes)
        case "debug_callback" | "debug_print":
            return Form(Turn.LOOP, "a call for each example")
        case "pure_callback" | "io_callback" | "ffi_call":
            return Form(Turn.LARGER, "called once for the whole batch")
        case name if name in _LIBRARY:
            shape = _shape(entry.equation.invars[0])
            if len(shape) < 2:
                return Form(Turn.LARGER)
            matrices = math.prod(shape[:-2])
            return Form(Turn.LIBRARY, f"{matrices} × ({shape[-2]}×{shape[-1]}) in one call")
        case _:
            return None if entry.bodies and not _combines(entry) else Form(Turn.LARGER)


def reduced(entry: Entry, names: Sequence[str]) -> Form:
    """A collective over the axis of a vmap, which needs no other device: a sum over the batch.

    `names` are its axes where the batch has others as well.
    """
    does = _REDUCES.get(entry.primitive, "sums")
    return Form(Turn.LARGER, f"{does} over {' and '.join(names) or 'the batch'}")


_REDUCES = {"pmax": "takes the largest", "pmin": "takes the smallest"}


def _combines(entry: Entry) -> bool:
    """Its jaxpr is how two elements are put together, as in a reduction."""
    return entry.primitive.startswith(("reduce", "scatter", "select_and"))


def _product(entry: Entry, operands: Sequence[int]) -> Form:
    (contracted, _), (batch, batch_right) = entry.equation.params["dimension_numbers"]
    left, right = (_shape(atom) for atom in entry.equation.invars[:2])
    between = math.prod(left[axis] for axis in contracted)
    many = math.prod(left[axis] for axis in batch)
    rows = math.prod(left) // max(1, between * many)
    columns = math.prod(right) // max(1, between * math.prod(right[a] for a in batch_right))
    one = f"({rows}×{between}) · ({between}×{columns})"
    if batch and operands[0] & operands[1]:
        return Form(Turn.MANY_PRODUCTS, f"{many} × {one}")
    return Form(Turn.ONE_PRODUCT, one if many == 1 else f"{many} × {one}")


def _choice(entry: Entry) -> Form:
    calls = _calls(entry)
    asked = [name for file, name in calls if file == "conditionals.py"]
    chooses = entry.equation.invars[0].aval
    # Operands are selected too, by a bool, so that the branch not taken computes with safe values.
    if not asked or not _by_rule(calls) or str(chooses.dtype) == "bool":
        return Form(Turn.LARGER)
    own = calls[-1][0] == "conditionals.py" and asked[-1] in _CHOOSING
    cause = asked[-1].removeprefix("_").removesuffix("_internal") if own else ""
    return Form(Turn.BOTH_BRANCHES, f"{len(entry.equation.invars) - 1} branches", cause)


def _by_rule(calls: Sequence[tuple[str, str]]) -> bool:
    """Whether the batching of a `cond` made the equation, not code inside a branch of it.

    Where the equation was evaluated again, its traceback is that of the `cond` itself.
    """
    return ("conditionals.py", "_cond_batching_rule") in calls or (
        bool(calls) and calls[0][0] == "conditionals.py"
    )


def _calls(entry: Entry) -> list[tuple[str, str]]:
    calls = _jax.jax_calls(_jax.traceback_of(entry.equation))
    return [call for call in calls if call[0] not in _MACHINERY]


# Where the function that the user called has another name in JAX's source.
_BY_FILE = {"custom_batching.py": "custom_vmap", "ffi.py": "ffi_call"}
_MACHINERY = frozenset(
    {"core.py", "partial_eval.py", "source_info_util.py", "traceback_util.py", "profiler.py"}
)


def _loop(entry: Entry, sizes: Sequence[int | None]) -> Form | None:
    """A scan that a batching rule put in: as long as the batch, and no loop function asked for."""
    if entry.equation.params["length"] not in sizes:
        return None
    calls = _calls(entry)
    batched = [i for i, call in enumerate(calls) if call == ("batching.py", "process_primitive")]
    asked = calls[batched[-1] + 1 :] if batched else calls
    if not asked or any(file == "loops.py" for file, _ in asked):
        return None
    file, name = asked[0]
    cause = _BY_FILE.get(file, name)
    return Form(Turn.LOOP, f"{entry.equation.params['length']} rounds of one example", cause)


def _asked(entry: Entry, wanted: str) -> str:
    """The function that the code called, where it is another than the equation's."""
    return f"from {wanted}" if any(name == wanted for _, name in _calls(entry)) else ""


def _groups(entry: Entry) -> int:
    params = entry.equation.params
    return max(int(params["feature_group_count"]), int(params["batch_group_count"]))


def _shape(atom: Any) -> tuple[int, ...]:
    return tuple(atom.aval.shape)
