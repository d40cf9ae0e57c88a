"""CuPy: NumPy code on a GPU."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any

from jaxscope.bench.frameworks.implementation import (
    Implementation,
    Prepared,
    Refusal,
    Task,
    gpus,
    import_failure,
)


class CuPy(Implementation):
    """CuPy's array API, on every GPU that it finds."""

    name = "cupy"
    title = "CuPy"

    def missing(self) -> str:
        why = import_failure("cupy", "CuPy", "cupy-cuda13x")
        return why or ("" if _gpus() else "CuPy finds no GPU here.")

    def versions(self) -> tuple[tuple[str, str], ...]:
        return (("cupy", str(_cupy().__version__)),)

    def devices(self) -> tuple[str, ...]:
        properties = _cupy().cuda.runtime.getDeviceProperties
        return gpus([str(properties(number)["name"]) for number in range(_gpus())])

    def sees(self, device: str) -> bool:
        kind, _, number = device.partition(":")
        return kind == "gpu" and int(number) < _gpus()

    def namespace(self) -> Any:
        try:
            import array_api_compat.cupy as xp  # pyright: ignore[reportMissingImports]
        except ImportError:
            return _cupy()
        return xp

    def put(self, array: Any, device: str) -> Any:
        with _device(device) as gpu:
            moved = _cupy().asarray(array)
            gpu.synchronize()
        return moved

    def prepare(self, task: Task, args: Sequence[Any], device: str) -> Prepared:
        if task.grad or task.vmap:
            raise Refusal(f"CuPy has no {'gradients' if task.grad else 'vmap'}.")
        return Prepared(task.callable)

    def waiting(self, outputs: Any, device: str) -> Callable[[Any], Any] | None:
        gpu = _device(device)
        return lambda _: gpu.synchronize()

    def to_numpy(self, leaf: Any) -> Any:
        return _cupy().asnumpy(leaf)

    @contextmanager
    def context(self, task: Task, device: str) -> Generator[None]:
        with _device(device):
            yield


def _gpus() -> int:
    cupy = _cupy()
    try:
        return int(cupy.cuda.runtime.getDeviceCount())
    except cupy.cuda.runtime.CUDARuntimeError:  # no driver
        return 0


def _device(name: str) -> Any:
    return _cupy().cuda.Device(int(name.partition(":")[2]))


def _cupy() -> Any:
    import cupy  # pyright: ignore[reportMissingImports]

    return cupy
