"""MLX: Apple's arrays, whose operations run when a result is asked for."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

from jaxscope.bench.frameworks.implementation import (
    Implementation,
    Prepared,
    Task,
    import_failure,
)


class Mlx(Implementation):
    """MLX, operation by operation, each call evaluated."""

    name = "mlx"
    title = "MLX"

    def missing(self) -> str:
        return import_failure("mlx.core", "MLX", "mlx")

    def versions(self) -> tuple[tuple[str, str], ...]:
        from importlib.metadata import version

        return (("mlx", version("mlx")),)

    def devices(self) -> tuple[str, ...]:
        mlx = _mlx()
        return ("cpu:0", "gpu:0") if mlx.is_available(mlx.gpu) else ("cpu:0",)

    def namespace(self) -> Any:
        return _mlx()

    def put(self, array: Any, device: str) -> Any:
        mlx = _mlx()
        moved = mlx.array(array)
        mlx.eval(moved)
        return moved

    def prepare(self, task: Task, args: Sequence[Any], device: str) -> Prepared:
        """Evaluation is part of the call: a result that is dropped would never be computed."""
        mlx = _mlx()
        function = task.transformed(mlx.grad, mlx.vmap)

        def evaluated(*args: Any) -> Any:
            outputs = function(*args)
            mlx.eval(outputs)
            return outputs

        return Prepared(evaluated)

    def to_numpy(self, leaf: Any) -> Any:
        mlx = _mlx()
        if isinstance(leaf, mlx.array) and leaf.dtype == mlx.bfloat16:  # NumPy has none
            leaf = leaf.astype(mlx.float32)
        return super().to_numpy(leaf)

    @contextmanager
    def context(self, task: Task, device: str) -> Generator[None]:
        mlx = _mlx()
        with mlx.stream(mlx.gpu if device.startswith("gpu") else mlx.cpu):
            yield


def _mlx() -> Any:
    import mlx.core  # pyright: ignore[reportMissingImports]

    return mlx.core
