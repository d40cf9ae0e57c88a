"""Names of implementations, sizes and ratios, for a sentence and for a table."""

import math

from jaxscope import words
from jaxscope.analysis.comparison.regression import Regression
from jaxscope.analysis.comparison.sweep import Contender, Size
from jaxscope.model.comparison import ComparisonRecord, ComparisonRow, Ratio, RatioVerdict

_VERBS = ("It raised ", "It hung", "It found ")
"""Beginnings of reasons that read well with one name or several in place of the `It`."""


def label(one: ComparisonRow | Contender | Regression) -> str:
    """`NumPy`, `JAX jit: fused`; labels without an implementation's name as the user wrote them."""
    return one.title or one.label


def baseline(record: ComparisonRecord) -> str:
    """The name of the implementation that ratios are against."""
    rows = [row for row in record.rows if row.label == record.baseline]
    return label(rows[0]) if rows else record.baseline


def failure(row: ComparisonRow) -> str:
    """The reason for a missing measurement, without the name in front, which a view shows first."""
    start = f"{row.label}: "
    if not row.failure.startswith(start):
        return row.failure
    text = row.failure.removeprefix(start)
    return text[:1].upper() + text[1:]


def after(text: str) -> str:
    """A sentence to follow a name: ` raised …` where the name can be its subject, else `: …`."""
    return text.removeprefix("It") if text.startswith(_VERBS) else f": {text}"


def contender(one: Contender | ComparisonRow, with_device: bool) -> str:
    """With its device where several are compared."""
    return f"{label(one)} on {one.device}" if with_device and one.device else label(one)


def size(given: Size) -> str:
    """`n = 4096, m = 64`."""
    return ", ".join(f"{name} = {number(value)}" for name, value in given)


def number(value: float) -> str:
    """A size: whole numbers as they are, grouped from five digits on."""
    if not math.isfinite(value):
        return words.UNKNOWN
    if value == int(value):
        whole = int(value)
        return f"{whole:,}".replace(",", " ") if abs(whole) >= 10_000 else str(whole)
    return words.significant(value)


def factor(ratio: float) -> str:
    """The factor or the percentage between two times: `3.1×`, `4 %`; always of at least 1."""
    value = max(ratio, 1 / ratio)
    return f"{_times(value)}×" if value >= 1.095 else words.percent(value - 1)


def _times(value: float, digits: int = 2) -> str:
    """`3.1`, `264`, `16 000`."""
    if value < 100:
        return words.significant(value, digits)
    return number(round(value) if value < 1000 else float(f"{value:.{digits}g}"))


def faster(ratio: Ratio) -> str:
    """`3.1× faster`, `4 % slower`, from the row's point of view."""
    word = "faster" if ratio.verdict is RatioVerdict.FASTER else "slower"
    return f"{factor(ratio.estimate)} {word}"


def interval(ratio: Ratio) -> str:
    """The interval of the factor: `2.9–3.3×`, low end first."""
    if not (math.isfinite(ratio.low) and math.isfinite(ratio.high)) or ratio.low <= 0:
        return ""
    ends = (ratio.low, ratio.high)
    if ratio.verdict is RatioVerdict.FASTER:
        ends = (1 / ratio.high, 1 / ratio.low)
    if max(ratio.estimate, 1 / ratio.estimate) < 1.095:
        low, high = (f"{(end - 1) * 100:.1f}" for end in ends)
        return f"{low} to {high} %"
    first, second = (_times(end) for end in ends)
    if first == second:  # equal in two digits: show the third
        first, second = (_times(end, 3) for end in ends)
    return f"{first}–{second}×" if first != second else f"{first}×"


def bare(ratio: Ratio) -> str:
    """A ratio with its interval as plain numbers, time over time: `0.322 (0.303–0.345)`."""
    if not math.isfinite(ratio.estimate):
        return words.UNKNOWN
    low, median, high = (
        # Three digits; two with a power of ten for tiny and huge values.
        words.significant(value) if 0.001 <= value < 10_000 else f"{value:.1e}"
        for value in (ratio.low, ratio.estimate, ratio.high)
    )
    # A single round has no interval.
    return median if ratio.low == ratio.high else f"{median} ({low}–{high})"


def sentence(text: str) -> str:
    """`interrupted at n=64` as a sentence of its own; an empty text stays empty."""
    return f"{text[0].upper()}{text[1:].rstrip('.')}." if text else ""


def title(record: ComparisonRecord) -> str:
    """The title of a page or a tab."""
    return record.title or "Comparison"
