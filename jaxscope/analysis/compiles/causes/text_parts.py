"""What the sentences about differences have in common."""

from __future__ import annotations

from collections.abc import Callable

from jaxscope.analysis.compiles.causes.difference import Difference
from jaxscope.analysis.compiles.causes.signature import Signature

Words = tuple[str, str]
"""What happened, and what to do about it."""

Writer = Callable[[Difference, Signature, int], Words]
"""Puts a difference into words, given the call and the serial of the compile it differs from."""


def change(found: Difference) -> str:
    """`f32[4] → f32[5]`."""
    return f"{found.before} → {found.after}"


def others(found: Difference) -> str:
    """` (and 3 more like it)`, or nothing."""
    return f" (and {found.others} more like it)" if found.others else ""
