"""Warnings about the results: shape, dtype and values against float64."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

import numpy as np

from jaxscope import words
from jaxscope.analysis.comparison import names
from jaxscope.model.comparison import JUST_OVER, BenchWarning, ComparisonRow

_FACTOR = 64
"""Rounding errors of n terms grow like √n; 64 leaves room for a few dozen operations in a row."""
_NUMBERS = "biufcV"
"""The kinds of dtypes that hold numbers; JAX's own, such as bfloat16, are of kind V."""
_INEXACT = "fcV"
_DOUBLES = ("float64", "complex128")
"""The kinds of dtypes that round; V is bfloat16 of ml_dtypes."""


@dataclass(frozen=True, slots=True)
class Check:
    """The comparison of one row's results with the reference."""

    error: float
    """Largest difference over the largest reference value; infinite where nothing can be compared
    or only one of the two has a NaN."""
    limit: float
    text: str = ""
    """The difference as a whole sentence; empty when the results agree."""

    @property
    def agrees(self) -> bool:
        """Whether the difference is within the limit, or just over it."""
        return self.error <= self.limit * JUST_OVER

    @property
    def warnings(self) -> tuple[BenchWarning, ...]:
        """J201, or J207 where the difference is just over the limit."""
        return (BenchWarning("J207" if self.agrees else "J201", self.text),) if self.text else ()


def check(
    results: Sequence[Any],
    reference: Sequence[Any],
    terms: int,
    tolerance: float | None = None,
    against: str = "float64 NumPy",
    coarsest: float = 0.0,
) -> Check:
    """Results and reference as NumPy arrays, in order; `terms` is the size of the largest input.

    `coarsest` is the best possible precision where the dtype of a result promises more.
    """
    # Lists of different lengths are rejected below, whatever the limit.
    limits = [limit_of(r, terms, coarsest, w) for r, w in zip(results, reference, strict=False)]
    limit = max(limits, default=0.0) if tolerance is None else tolerance
    if len(results) != len(reference):
        mine, theirs = (words.count(len(side), "array") for side in (results, reference))
        text = f"It returns {mine}, but {against} returns {theirs}: they do different work."
        return Check(math.inf, limit, text)
    worst = 0.0
    for position, (result, wanted) in enumerate(zip(results, reference, strict=True)):
        which = f"result {position}" if len(results) > 1 else "the result"
        if result.shape != wanted.shape:
            text = (
                f"The shape of {which} is {tuple(result.shape)}, but that of {against} is "
                f"{tuple(wanted.shape)}: they do different work."
            )
            return Check(math.inf, limit, text)
        worst = max(worst, difference(result, wanted))
    if worst <= limit:
        return Check(worst, limit)
    if worst <= limit * JUST_OVER:
        text = (
            f"The result differs from {against} by {of_largest(worst)}, "
            f"{words.percent(worst / limit - 1)} over the tolerance of {limit:.2g}."
        )
        return Check(worst, limit, text)
    return Check(worst, limit, _explained(results, reference, worst, limit, against))


def nothing_finite(results: Sequence[Any]) -> BenchWarning | None:
    """J203, where all numbers are NaN or infinite: such results always agree."""
    numbers = [array for array in results if array.dtype.kind in "fc" and array.size]
    if not numbers or any(np.isfinite(array).any() for array in numbers):
        return None
    if all(np.isnan(array).all() for array in numbers):
        text = "Every number of the result is NaN"
    else:
        text = "No number of the result is finite"
    return BenchWarning("J203", f"{text}, so the check proves nothing. Use different inputs.")


def not_computed(leaves: Sequence[Any]) -> BenchWarning | None:
    """J206, where a result is still to be computed when the call returns."""
    for leaf in leaves:
        what = f"a `{type(leaf).__name__}` object"
        if isinstance(leaf, (Iterator, range, map, zip, filter)):
            when = "which computes nothing until it is read"
        elif isinstance(leaf, Awaitable):
            when = "which computes nothing until it is awaited"
        elif isinstance(leaf, Future):
            when = "which may still be computing"
        elif hasattr(leaf, "__dask_graph__"):
            when = "which computes nothing until `.compute()`"
        elif callable(leaf) and not hasattr(leaf, "dtype"):
            when = "which computes nothing until it is called"
        else:
            continue
        return BenchWarning("J206", f"It returns {what}, {when}. Return the finished result.")
    return None


def random(of: str) -> BenchWarning:
    """J208; `of` names the code."""
    return BenchWarning(
        "J208",
        f"Two calls of {of} with the same inputs give different results, as random numbers do, so "
        "its result was not compared.",
    )


def same_object() -> BenchWarning:
    """J204."""
    return BenchWarning(
        "J204",
        "It returns the result of the call before and computes nothing itself. Time it without its "
        "cache.",
    )


def stays_the_same(names: Sequence[str]) -> BenchWarning:
    """J205."""
    which = words.names(names, len(names))
    return BenchWarning(
        "J205", f"Its result does not change with {which}. Compute it in the call, from {which}."
    )


def limit_of(result: Any, terms: int, coarsest: float = 0.0, wanted: Any = None) -> float:
    """64·eps·√n of the less precise of the result and the reference; 0 where both are integers or
    bools."""
    both = [array.dtype for array in (result, wanted) if array is not None]
    precisions = [_eps(dtype) for dtype in both if dtype.kind in _INEXACT]
    if not precisions:
        return 0.0
    return _FACTOR * max(*precisions, coarsest) * math.sqrt(max(terms, 1))


def expected(leaves: Sequence[Any], inputs: Iterable[Any]) -> float:
    """The precision of the inputs where the type of a result promises more than they have; else 0.

    A Python number is always a double, and so is what NumPy makes of a float32 array and a float64
    constant.
    """
    given = max(
        [_eps(array.dtype) for array in inputs if array.dtype.kind in _INEXACT], default=0.0
    )
    if any(type(leaf) in (float, complex) for leaf in leaves):
        return given
    doubles = [leaf for leaf in leaves if str(getattr(leaf, "dtype", "")) in _DOUBLES]
    return min(given, _eps(np.dtype(np.float32))) if doubles else 0.0


def difference(result: Any, wanted: Any) -> float:
    """Largest difference over the largest value; 0 for empty arrays."""
    if not wanted.size:
        return 0.0
    if not {result.dtype.kind, wanted.dtype.kind} <= set(_NUMBERS):
        return 0.0 if np.array_equal(result, wanted) else math.inf
    kind = np.complex128 if "c" in (result.dtype.kind, wanted.dtype.kind) else np.float64
    mine, theirs = result.astype(kind), wanted.astype(kind)
    if (np.isnan(mine) != np.isnan(theirs)).any():
        return math.inf
    with np.errstate(all="ignore"):
        # Equal infinities do not differ; a finite number and an infinite one differ by infinity.
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
            "loss is the conjugate of PyTorch's. Conjugate one of them."
        )
    for result, wanted in pairs:
        mine, theirs = int(_nans(result)), int(_nans(wanted))
        if mine != theirs:
            return f"The result has {mine} NaN, but that of {against} has {theirs}."
    # Not that they do different work: where rounding errors grow, either may be the worse one.
    text = f"The result differs from {against} by {of_largest(worst)} (tolerance {limit:.2g})."
    apart = [(r, w) for r, w in pairs if difference(r, w) > limit]
    return text + _of_integers([r.dtype for r, _ in apart], [w.dtype for _, w in apart], against)


def of_largest(error: float) -> str:
    """`0.01 of the largest value`, `14 times the largest value`."""
    return f"{error:.2g} {'of' if error < 1 else 'times'} the largest value"


def _of_integers(mine: Sequence[Any], theirs: Sequence[Any], against: str) -> str:
    """The remark on integer results, with a space before it; else empty."""
    integers = [(m, t) for m, t in zip(mine, theirs, strict=True) if m.kind in "iu"]
    mixed = next(((m, t) for m, t in integers if t.kind in _INEXACT), None)
    if mixed is not None:
        return f" The result is {mixed[0]}, but that of {against} is {mixed[1]}."
    if not integers:
        return ""
    bits = min(8 * m.itemsize for m, _ in integers)
    # 64-bit integers overflow too, but rarely in benchmarks.
    overflow = f"; {bits} bits may have overflowed" if bits < 64 else ""
    return f" Integers have no tolerance{overflow}."


def dtypes_differ(rows: Sequence[ComparisonRow], x64: bool) -> BenchWarning | None:
    """J202, where the implementations compute in different precisions."""
    labels: dict[str, list[str]] = {}
    for row in rows:
        if row.dtype:
            labels.setdefault(row.dtype, []).append(names.label(row))
    if len(labels) < 2:
        return None
    listed = "; ".join(f"{dtype}: {', '.join(labels[dtype])}" for dtype in sorted(labels))
    text = f"The results' dtypes differ ({listed}), so the implementations do different work."
    if not x64 and any("64" in dtype for dtype in labels) and any("32" in d for d in labels):
        text += " JAX computes in 32 bits unless jax_enable_x64 is set: use `--x64`"
        floats = any(dtype.startswith("float64") for dtype in labels)
        text += ", or give all of them float32 inputs." if floats else "."
    return BenchWarning("J202", text)


def _nans(array: Any) -> int:
    return int(np.isnan(array).sum()) if array.dtype.kind in "fc" else 0


def _eps(dtype: Any) -> float:
    if dtype.kind == "V":  # bfloat16 of ml_dtypes
        return 2.0**-7
    return float(np.finfo(dtype).eps)
