"""HIPS autograd: NumPy code, differentiated in reverse mode."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jaxscope.bench.frameworks.implementation import (
    Implementation,
    Prepared,
    Refusal,
    Task,
    import_failure,
)


class Autograd(Implementation):
    """Code for `autograd.numpy`, run as NumPy does; gradients by autograd's tape."""

    name = "autograd"
    title = "HIPS autograd"

    def missing(self) -> str:
        return import_failure("autograd", "HIPS autograd", "autograd")

    def versions(self) -> tuple[tuple[str, str], ...]:
        from importlib.metadata import version

        return (("autograd", version("autograd")),)

    def namespace(self) -> Any:
        import autograd.numpy  # pyright: ignore[reportMissingImports]

        return autograd.numpy

    def prepare(self, task: Task, args: Sequence[Any], device: str) -> Prepared:
        import autograd  # pyright: ignore[reportMissingImports]

        if task.vmap:
            raise Refusal("HIPS autograd has no vmap.")
        if not task.grad:
            return Prepared(task.callable)
        argnums = task.grad[0] if len(task.grad) == 1 else task.grad
        return Prepared(autograd.grad(task.callable, argnums))
