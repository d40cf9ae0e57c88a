"""What contestants, sizes and ratios are called in a sentence and in a table."""

from __future__ import annotations

import math

from jaxscope import words
from jaxscope.analysis.comparison.sweep import Contender, Size
from jaxscope.model.comparison import ComparisonRecord, Ratio, Row, Verdict

_NAMES = {
    "numpy": "NumPy",
    "jax": "JAX jit",
    "jax-eager": "JAX eager",
    "torch": "PyTorch",
    "torch-compile": "torch.compile",
    "torchscript": "TorchScript",
    "torch-func": "torch.func",
    "c": "C",
}

_DID = ("It raised ", "It hung", "It saw ")
"""How the reasons begin that read well with a name, or several, in place of the `It`."""


def label(text: str) -> str:
    """`numpy` → `NumPy`, `jax: fused` → `JAX jit: fused`; other labels as the user wrote them."""
    name, colon, rest = text.partition(":")
    return f"{_NAMES[name]}{colon}{rest}" if name in _NAMES else text


def failure(row: Row) -> str:
    """Why it was not measured, to stand beside its name, which the reason need not begin with."""
    start = f"{row.label}: "
    if not row.failure.startswith(start):
        return row.failure
    text = row.failure.removeprefix(start)
    return text[:1].upper() + text[1:]


def after(text: str) -> str:
    """A sentence to stand after a name: ` raised …` after its own subject, else `: …`."""
    own = text.startswith(_DID)
    return text.removeprefix("It") if own else f": {text}"


def contender(one: Contender | Row, with_device: bool) -> str:
    """With its device where several are compared."""
    return f"{label(one.label)} on {one.device}" if with_device and one.device else label(one.label)


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
    """How many times, or by how many percent: `3.1×`, `4 %`; always of at least 1."""
    value = max(ratio, 1 / ratio)
    if value >= 1.095:
        return f"{_times(value)}×"
    return words.percent(value - 1)


def _times(value: float, digits: int = 2) -> str:
    """`3.1`, `264`, `16 000`."""
    if value < 100:
        return words.significant(value, digits)
    return number(round(value) if value < 1000 else float(f"{value:.{digits}g}"))


def faster(ratio: Ratio) -> str:
    """`3.1× faster`, `4 % slower`, from the row's point of view."""
    word = "faster" if ratio.verdict is Verdict.FASTER else "slower"
    return f"{factor(ratio.estimate)} {word}"


def interval(ratio: Ratio) -> str:
    """The interval of how many times: `2.9–3.3×`, low end first."""
    if not (math.isfinite(ratio.low) and math.isfinite(ratio.high)) or ratio.low <= 0:
        return ""
    ends = (ratio.low, ratio.high)
    if ratio.verdict is Verdict.FASTER:
        ends = (1 / ratio.high, 1 / ratio.low)
    if max(ratio.estimate, 1 / ratio.estimate) < 1.095:
        low, high = (f"{(end - 1) * 100:.1f}" for end in ends)
        return f"{low} to {high} %"
    first, second = (_times(end) for end in ends)
    if first == second:  # sure to two digits: show where it is not
        first, second = (_times(end, 3) for end in ends)
    return f"{first}–{second}×" if first != second else f"{first}×"


def bare(ratio: Ratio) -> str:
    """A ratio with its interval as plain numbers, time over time: `0.322 (0.303–0.345)`."""
    if not math.isfinite(ratio.estimate):
        return words.UNKNOWN
    low, middle, high = (_plain(value) for value in (ratio.low, ratio.estimate, ratio.high))
    if ratio.low == ratio.high:  # one round alone: nobody knows how far off it is
        return middle
    return f"{middle} ({low}–{high})"


def _plain(value: float) -> str:
    """Three digits; of what is tiny or huge two, with a power of ten."""
    return words.significant(value) if 0.001 <= value < 10_000 else f"{value:.1e}"


def sentence(text: str) -> str:
    """`interrupted at n=64` as a sentence of its own; nothing stays nothing."""
    return f"{text[0].upper()}{text[1:].rstrip('.')}." if text else ""


def title(record: ComparisonRecord) -> str:
    """What a page or a tab is called."""
    return record.title or "Comparison"
