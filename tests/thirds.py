"""The share of a long list of cells that one pair of Python and JAX plays."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")
_OURS = os.environ.get("JAXSCOPE_THIRDS_OF_CELLS", "0 1 2").split()


def ours(cases: Sequence[T]) -> list[T]:
    """`make test` plays one third; the oldest and the newest pair one of the others each.

    Without the variable, all are played.
    """
    return [case for number, case in enumerate(cases) if str(number % 3) in _OURS]
