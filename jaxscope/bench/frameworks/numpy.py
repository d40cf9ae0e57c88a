"""NumPy: the code runs as written, on the host."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jaxscope.bench.frameworks.implementation import Implementation, Prepared, Refusal, Task
from jaxscope.model import Unavailable


class NumPy(Implementation):
    """Plain NumPy, always installed beside JAX."""

    name = "numpy"
    title = "NumPy"
    framework = "numpy"

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
            raise Refusal("NumPy has no gradients. `jax`, `torch` and `autograd` have them.")
        return Prepared(looped(task.callable, task.vmap) if task.vmap else task.callable)

    def peak_bytes(self, call: Callable[[], Any], device: str) -> int | Unavailable:
        """From `tracemalloc`, to which NumPy reports its arrays, but not the work space of BLAS."""
        if tracemalloc.is_tracing():
            return Unavailable("tracemalloc is already in use")
        tracemalloc.start()
        try:
            call()
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()


def looped(function: Callable[..., Any], axes: tuple[int | None, ...]) -> Callable[..., Any]:
    """Batch a function as NumPy users do: a Python loop over the examples, and one stack."""

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
