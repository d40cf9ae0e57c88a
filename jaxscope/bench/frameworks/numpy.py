"""NumPy: the code runs as it stands, on the host."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jaxscope.bench.frameworks.implementation import Contestant, Prepared, Refusal, Task
from jaxscope.model import Unavailable


class NumPy(Contestant):
    """The baseline that everybody has."""

    name = "numpy"

    def versions(self) -> tuple[tuple[str, str], ...]:
        return (("numpy", np.__version__),)

    def namespace(self) -> Any:
        try:
            import array_api_compat.numpy as xp  # pyright: ignore[reportMissingImports]
        except ImportError:  # NumPy 2 is the standard's namespace itself, nearly whole
            return np
        return xp

    def prepare(self, task: Task, args: Sequence[Any], device: str) -> Prepared:
        if task.grad:
            raise Refusal(
                "NumPy has no gradients; `jax`, `torch` and plug-ins such as HIPS autograd "
                "have them."
            )
        return Prepared(looped(task.callable, task.vmap) if task.vmap else task.callable)

    def peak_bytes(self, call: Callable[[], Any], device: str) -> int | Unavailable:
        """NumPy reports its arrays to `tracemalloc`; BLAS work space is not among them."""
        if tracemalloc.is_tracing():
            return Unavailable("tracemalloc is in use already")
        tracemalloc.start()
        try:
            call()
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()


def looped(function: Callable[..., Any], axes: tuple[int | None, ...]) -> Callable[..., Any]:
    """NumPy's own way to batch a function: a Python loop over the examples, and one stack."""

    def batched(*args: Any) -> Any:
        count = next(a.shape[axis] for a, axis in zip(args, axes, strict=True) if axis is not None)
        rows = [
            function(
                *[
                    a if axis is None else np.take(a, i, axis)
                    for a, axis in zip(args, axes, strict=True)
                ]
            )
            for i in range(count)
        ]
        if rows and isinstance(rows[0], tuple):
            return tuple([np.stack(column) for column in zip(*rows, strict=True)])
        return np.stack(rows)

    return batched
