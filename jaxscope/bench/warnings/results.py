"""Whether a contestant's results are right: shape, dtype and values against float64."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from jaxscope.model.comparison import Doubt
from jaxscope.view.comparison import names

_FACTOR = 64
"""Rounding errors of n terms grow like √n; 64 leaves room for a few dozen operations in a row."""
_INEXACT = "fcV"
"""The kinds of dtypes that round; V is bfloat16 of ml_dtypes."""


@dataclass(frozen=True, slots=True)
class Check:
    """The comparison of one row's results with the reference."""

    error: float
    """Largest difference over the largest reference value; infinite where nothing can be compared
    or one has a NaN where the other has none."""
    limit: float
    text: str = ""
    """What is wrong, as a whole sentence; empty when the results agree."""

    @property
    def doubts(self) -> tuple[Doubt, ...]:
        return (Doubt("J201", self.text),) if self.text else ()


def check(
    results: Sequence[Any],
    reference: Sequence[Any],
    terms: int,
    tolerance: float | None = None,
    against: str = "float64 NumPy",
    coarsest: float = 0.0,
) -> Check:
    """Results and reference as NumPy arrays, in order; `terms` is the size of the largest input.

    `coarsest` is the precision that can be expected at best, where a result's dtype claims more.
    """
    # Two lists of different lengths are refused below, whatever the limit.
    limits = [limit_of(r, terms, coarsest, w) for r, w in zip(results, reference, strict=False)]
    limit = max(limits, default=0.0) if tolerance is None else tolerance
    if len(results) != len(reference):
        mine, theirs = _arrays(len(results)), _arrays(len(reference))
        text = f"It returns {mine}, and {against} returns {theirs}: they do different work."
        return Check(math.inf, limit, text)
    worst = 0.0
    for position, (result, wanted) in enumerate(zip(results, reference, strict=True)):
        which = f"result {position}" if len(results) > 1 else "the result"
        if result.shape != wanted.shape:
            text = (
                f"The shape of {which} is {_shape(result)}, and {against} gives {_shape(wanted)}: "
                "they do different work."
            )
            return Check(math.inf, limit, text)
        worst = max(worst, difference(result, wanted))
    if worst <= limit:
        return Check(worst, limit)
    return Check(worst, limit, _explained(results, reference, worst, limit, against))


def nothing_finite(results: Sequence[Any]) -> Doubt | None:
    """J203, where there are numbers and all are NaN or infinite: such results always agree."""
    numbers = [array for array in results if array.dtype.kind in "fc" and array.size]
    if not numbers or any(np.isfinite(array).any() for array in numbers):
        return None
    if all(np.isnan(array).all() for array in numbers):
        text = "Every number of the result is NaN"
    else:
        text = "No number of the result is finite"
    return Doubt("J203", f"{text}: nothing shows that this is the work that was meant.")


def limit_of(result: Any, terms: int, coarsest: float = 0.0, wanted: Any = None) -> float:
    """64·eps·√n of the less precise of the result and what is wanted; nothing where both are
    integers or bools."""
    both = [array.dtype for array in (result, wanted) if array is not None]
    precisions = [_eps(dtype) for dtype in both if dtype.kind in _INEXACT]
    if not precisions:
        return 0.0
    return _FACTOR * max(*precisions, coarsest) * math.sqrt(max(terms, 1))


def expected(leaves: Sequence[Any], inputs: Iterable[Any]) -> float:
    """The inputs' precision where a result is Python's own number, which is a double whatever it
    was computed in; else 0: a result's dtype tells its own."""
    if not any(type(leaf) in (float, complex) for leaf in leaves):
        return 0.0
    return max([_eps(array.dtype) for array in inputs if array.dtype.kind in _INEXACT], default=0.0)


def difference(result: Any, wanted: Any) -> float:
    """Largest difference over the largest value; 0 of empty arrays."""
    if not wanted.size:
        return 0.0
    kind = np.complex128 if "c" in (result.dtype.kind, wanted.dtype.kind) else np.float64
    mine, theirs = result.astype(kind), wanted.astype(kind)
    if (np.isnan(mine) != np.isnan(theirs)).any():
        return math.inf
    with np.errstate(all="ignore"):
        # Equal infinities differ by nothing; a finite number and an infinite one by infinity.
        gaps = np.where((mine == theirs) | np.isnan(mine), 0.0, np.abs(mine - theirs))
        finite = np.abs(theirs[np.isfinite(theirs)])
    largest = float(finite.max()) if finite.size else 0.0
    worst = float(gaps.max())
    return worst / largest if largest > 0 else worst


def _explained(
    results: Sequence[Any], reference: Sequence[Any], worst: float, limit: float, against: str
) -> str:
    pairs = list(zip(results, reference, strict=True))
    if any(r.dtype.kind == "c" for r, _ in pairs) and all(
        difference(r.conj(), w) <= limit for r, w in pairs
    ):
        return (
            f"The result is the complex conjugate of that of {against}: JAX's gradient of a real "
            "loss is the conjugate of PyTorch's."
        )
    for result, wanted in pairs:
        mine, theirs = int(_nans(result)), int(_nans(wanted))
        if mine != theirs:
            return f"The result holds {mine} NaN, and that of {against} holds {theirs}."
    text = (
        f"The result differs from {against} by {worst:.2g} of its largest value, and "
        f"{limit:.2g} is allowed: the ratio does not compare like with like."
    )
    return text + _of_integers([r.dtype for r, _ in pairs], [w.dtype for _, w in pairs], against)


def _of_integers(mine: Sequence[Any], theirs: Sequence[Any], against: str) -> str:
    """What there is to say of results that are integers, with a space before it."""
    integers = [(m, t) for m, t in zip(mine, theirs, strict=True) if m.kind in "iu"]
    mixed = next(((m, t) for m, t in integers if t.kind in _INEXACT), None)
    if mixed is not None:
        return f" The result is {mixed[0]}, and that of {against} is {mixed[1]}."
    if not integers:
        return ""
    bits = min(8 * m.itemsize for m, _ in integers)
    # Counters of 64 bits overflow too, but hardly where people benchmark.
    overflow = f"; {bits} bits may have overflowed" if bits < 64 else ""
    return f" Integers have no tolerance{overflow}."


def dtypes_differ(dtypes: dict[str, str], x64: bool) -> Doubt | None:
    """J202, when the contestants compute in different precisions; `dtypes` by label."""
    kinds = sorted(set(dtypes.values()) - {""})
    if len(kinds) < 2:
        return None
    said = "; ".join(
        f"{kind}: {', '.join(names.label(label) for label, k in dtypes.items() if k == kind)}"
        for kind in kinds
    )
    text = f"The results' dtypes differ between contestants ({said}), so they do different work."
    if not x64 and any("64" in kind for kind in kinds) and any("32" in kind for kind in kinds):
        text += (
            " JAX computes in 32 bits unless jax_enable_x64 is set: use `--x64`, or give float32 "
            "inputs to all."
        )
    return Doubt("J202", text)


def _nans(array: Any) -> int:
    return int(np.isnan(array).sum()) if array.dtype.kind in "fc" else 0


def _eps(dtype: Any) -> float:
    if dtype.kind == "V":  # bfloat16 of ml_dtypes
        return 2.0**-7
    return float(np.finfo(dtype).eps)


def _arrays(count: int) -> str:
    return "1 array" if count == 1 else f"{count} arrays"


def _shape(array: Any) -> str:
    return str(tuple(array.shape))
