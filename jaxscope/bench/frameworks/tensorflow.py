"""TensorFlow: eager, and as a graph under `tf.function`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jaxscope.bench.cell.timed_code import TIMED
from jaxscope.bench.frameworks.implementation import (
    Implementation,
    Prepared,
    Refusal,
    Task,
    gpus,
    import_failure,
    timed,
)
from jaxscope.model.comparison import Phases


class TensorFlow(Implementation):
    """Eager TensorFlow, operation by operation."""

    name = "tensorflow"
    title = "TensorFlow"
    releases_gil = True

    def missing(self) -> str:
        return import_failure("tensorflow", "TensorFlow", "tensorflow")

    def versions(self) -> tuple[tuple[str, str], ...]:
        return (("tensorflow", str(_tensorflow().__version__)),)

    def devices(self) -> tuple[str, ...]:
        details = _tensorflow().config.experimental.get_device_details
        return ("cpu:0", *gpus([str(details(gpu).get("device_name")) for gpu in _gpus()]))

    def sees(self, device: str) -> bool:
        kind, _, number = device.partition(":")
        return int(number) < len(_gpus()) if kind == "gpu" else device == "cpu:0"

    def namespace(self) -> Any:
        """TensorFlow's own functions with NumPy's names: array-api-compat has none for it."""
        return _tensorflow().experimental.numpy

    def put(self, array: Any, device: str) -> Any:
        tensorflow = _tensorflow()
        with tensorflow.device(device):
            moved = tensorflow.constant(array)
        if wait := self.waiting(None, device):
            wait(None)
        return moved

    def prepare(self, task: Task, args: Sequence[Any], device: str) -> Prepared:
        return Prepared(task.transformed(_gradient, _batched))

    def waiting(self, outputs: Any, device: str) -> Callable[[Any], Any] | None:
        """Calls on the CPU return when they are done; those on a GPU are queued."""
        if device.startswith("cpu"):
            return None
        return lambda _: _tensorflow().test.experimental.sync_devices()

    def to_numpy(self, leaf: Any) -> Any:
        """Sparse gradients become dense, and bfloat16, which NumPy lacks, float32."""
        tensorflow = _tensorflow()
        dense = tensorflow.convert_to_tensor(leaf)
        if dense.dtype == tensorflow.bfloat16:
            dense = tensorflow.cast(dense, tensorflow.float32)
        return dense.numpy()


class TensorFlowFunction(TensorFlow):
    """The function under `tf.function`, traced before its first call."""

    name = "tf-function"
    title = "tf.function"
    compiles = True

    def prepare(self, task: Task, args: Sequence[Any], device: str) -> Prepared:
        function = task.transformed(_gradient, _batched)
        options = {"autograph": not _is_of_a_cell(task.callable), **task.options}
        graph = _tensorflow().function(function, **options)
        _, seconds = timed(lambda: graph.get_concrete_function(*args))
        return Prepared(
            graph, Phases(trace_s=seconds), compile_count=graph.experimental_get_tracing_count
        )


def _is_of_a_cell(function: Any) -> bool:
    """Whether it is, or holds, the timed code of a cell.

    AutoGraph converts the lines that a code object names. Timed code has no `def` at its lines, so
    AutoGraph would find no function there, or convert a different one.
    """
    held = [cell.cell_contents for cell in getattr(function, "__closure__", None) or ()]
    return any(getattr(one, "__name__", "") == TIMED for one in (function, *held))


def _gradient(function: Callable[..., Any], argnums: int | tuple[int, ...]) -> Callable[..., Any]:
    """Reverse mode by the tape. Conjugates of JAX's gradients where inputs are complex."""
    tensorflow = _tensorflow()
    positions = argnums if isinstance(argnums, tuple) else (argnums,)

    def gradient(*args: Any) -> Any:
        wanted = [args[position] for position in positions]
        with tensorflow.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(wanted)
            value = function(*args)
        found = tape.gradient(value, wanted)
        return tuple(found) if isinstance(argnums, tuple) else found[0]

    return gradient


def _batched(function: Callable[..., Any], axes: Sequence[int | None]) -> Callable[..., Any]:
    """`tf.vectorized_map` over the first axis."""
    if any(axis not in (0, None) for axis in axes):
        raise Refusal("TensorFlow's vectorized_map maps the first axis only.")
    tensorflow = _tensorflow()

    def batched(*args: Any) -> Any:
        def one(rows: Any) -> Any:
            rest = iter(rows)
            return function(
                *[arg if axis is None else next(rest) for arg, axis in zip(args, axes, strict=True)]
            )

        mapped = tuple(arg for arg, axis in zip(args, axes, strict=True) if axis is not None)
        return tensorflow.vectorized_map(one, mapped)

    return batched


def _gpus() -> list[Any]:
    return _tensorflow().config.list_physical_devices("GPU")


def _tensorflow() -> Any:
    import tensorflow  # pyright: ignore[reportMissingImports, reportMissingModuleSource]

    return tensorflow
