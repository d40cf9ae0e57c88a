"""The state of the random generators of Python and NumPy, to see and undo its changes."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

import numpy as np


class RandomState:
    """The states of Python's and NumPy's global generators, and of those that code can reach."""

    def __init__(self, generators: Iterable[Any]) -> None:
        self._generators = tuple(generators)
        self._before = self._read()

    def changed(self) -> bool:
        return not _equal(self._before, self._read())

    def restore(self) -> None:
        ours, numpys, others = self._before
        random.setstate(ours)
        np.random.set_state(numpys)
        for generator, state in zip(self._generators, others, strict=True):
            if isinstance(generator, random.Random):
                generator.setstate(state)
            elif isinstance(generator, np.random.RandomState):
                generator.set_state(state)
            else:
                generator.bit_generator.state = state

    def _read(self) -> tuple[Any, Any, tuple[Any, ...]]:
        return (
            random.getstate(),
            np.random.get_state(),
            tuple([_state(generator) for generator in self._generators]),
        )


def _state(generator: Any) -> Any:
    if isinstance(generator, random.Random):
        return generator.getstate()
    if isinstance(generator, np.random.RandomState):
        return generator.get_state()
    return generator.bit_generator.state


def _equal(before: Any, now: Any) -> bool:
    if isinstance(before, np.ndarray):
        return bool(np.array_equal(before, now))
    if isinstance(before, dict):
        return all(_equal(before[key], now[key]) for key in before)
    if isinstance(before, (tuple, list)):
        return all(_equal(a, b) for a, b in zip(before, now, strict=True))
    return bool(before == now)
