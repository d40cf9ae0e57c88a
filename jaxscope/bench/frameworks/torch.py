"""PyTorch: eager, compiled, as TorchScript, and with the transforms of `torch.func`."""

from __future__ import annotations

import os
import sys
import tempfile
import types
import warnings
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from jaxscope.bench.frameworks.implementation import (
    Implementation,
    Prepared,
    Refusal,
    Task,
    import_failure,
    timed,
)
from jaxscope.bench.warnings import programs
from jaxscope.model import Unavailable
from jaxscope.model.comparison import BenchWarning, Phases

_QUEUED_CALLS = 20
_CYCLES_PER_S = 2e9
"""At least as many as a GPU's clock makes: the kernel that waits may wait longer than asked."""
_LONGEST_WAIT_S = 0.2
_RUNS_TO_OPTIMIZE = 2
"""After the first: TorchScript profiles one or two runs before it optimizes."""
_NOTHING = frozenset({
    "prim::Constant", "prim::TupleConstruct", "prim::TupleUnpack", "prim::ListConstruct",
})  # fmt: skip
"""Nodes of its graphs that compute nothing."""
_GRADIENTS = frozenset({"backward", "grad", "requires_grad", "requires_grad_", "autograd", "func"})


class Torch(Implementation):
    """Eager PyTorch, operation by operation."""

    name = "torch"
    title = "PyTorch"
    framework = "torch"

    def missing(self) -> str:
        return import_failure("torch", "PyTorch", "jaxscope[torch]")

    def versions(self) -> tuple[tuple[str, str], ...]:
        return (("torch", str(_torch().__version__)),)

    def devices(self) -> tuple[str, ...]:
        """One of each kind; a CUDA device is called `gpu:0` here, as in JAX."""
        torch = _torch()
        found = ["cpu:0"]
        if torch.cuda.is_available():
            kinds = {torch.cuda.get_device_name(i): i for i in range(torch.cuda.device_count())}
            found += [f"gpu:{i}" for i in sorted(kinds.values())]
        if torch.backends.mps.is_available():
            found.append("mps:0")
        return tuple(found)

    def sees(self, device: str) -> bool:
        kind, _, number = device.partition(":")
        if kind == "gpu":
            return int(number) < _torch().cuda.device_count()
        return super().sees(device)

    def namespace(self) -> Any:
        try:
            import array_api_compat.torch as xp  # pyright: ignore[reportMissingImports]
        except ImportError:
            return _torch()  # its functions differ from the standard's in places
        return xp

    def put(self, array: Any, device: str) -> Any:
        moved = _torch().from_numpy(array).to(_named(device))
        self._synchronize(device)
        return moved

    def prepare(self, task: Task, args: Sequence[Any], device: str) -> Prepared:
        return Prepared(self._function(task))

    def waiting(self, outputs: Any, device: str) -> Callable[[Any], Any] | None:
        torch = _torch()
        if device.startswith("gpu"):
            target = torch.device(_named(device))
            return lambda _: torch.cuda.synchronize(target)
        if device.startswith("mps"):
            return lambda _: torch.mps.synchronize()
        return None

    def to_numpy(self, leaf: Any) -> Any:
        if not isinstance(leaf, _torch().Tensor):
            return super().to_numpy(leaf)
        held = leaf.detach().resolve_conj().resolve_neg().cpu()
        if held.dtype is _torch().bfloat16:
            held = held.float()
        return held.numpy()

    @contextmanager
    def context(self, task: Task, device: str) -> Generator[None]:
        """Inference mode, unless gradients are requested or the code itself names autograd."""
        if task.grad or _names_autograd(task.function):
            yield
            return
        with _torch().inference_mode():
            yield

    def threads(self) -> int | None:
        return int(_torch().get_num_threads())

    def device_s(
        self, call: Callable[..., Any], seconds: float, device: str
    ) -> float | Unavailable:
        """On a GPU the time between two events around calls that wait in its queue.

        PyTorch's profiler would take CUPTI for itself: JAX's finds no kernels afterwards.
        """
        if not device.startswith("gpu"):
            return super().device_s(call, seconds, device)
        cuda = _torch().cuda
        with cuda.device(_named(device)):
            cuda.synchronize()
            _, queued_s = timed(lambda: [call(wait=False) for _ in range(_QUEUED_CALLS)])
            cuda.synchronize()
            first, last = cuda.Event(enable_timing=True), cuda.Event(enable_timing=True)
            # A kernel that does nothing, until all calls are queued behind it.
            cuda._sleep(int(_CYCLES_PER_S * min(2 * queued_s, _LONGEST_WAIT_S)))
            first.record()
            for _ in range(_QUEUED_CALLS):
                call(wait=False)
            last.record()
            cuda.synchronize()
            return first.elapsed_time(last) * 1e-3 / _QUEUED_CALLS

    def peak_bytes(self, call: Callable[[], Any], device: str) -> int | Unavailable:
        torch = _torch()
        if device.startswith("gpu"):
            target = torch.device(_named(device))
            torch.cuda.reset_peak_memory_stats(target)
            before = torch.cuda.memory_allocated(target)
            call()
            return int(torch.cuda.max_memory_allocated(target) - before)
        return _cpu_peak(call)

    def _function(self, task: Task) -> Callable[..., Any]:
        """Gradients by the autograd tape, as in eager PyTorch; batches by `torch.func.vmap`."""
        if task.grad and not task.vmap:  # the tape has no per-example gradients
            return _taped(task.callable, task.grad)
        return _func(task)

    def _synchronize(self, device: str) -> None:
        if wait := self.waiting(None, device):
            wait(None)


class TorchFunc(Torch):
    """The transforms of `torch.func`, run eagerly."""

    name = "torch-func"
    title = "torch.func"

    def _function(self, task: Task) -> Callable[..., Any]:
        if not task.grad and not task.vmap:
            raise Refusal(
                "torch.func only transforms functions. Add --grad or --vmap, or use `torch`."
            )
        return _func(task)


class TorchCompile(Torch):
    """`torch.compile`, for these shapes."""

    name = "torch-compile"
    title = "torch.compile"
    compiles = True

    def prepare(self, task: Task, args: Sequence[Any], device: str) -> Prepared:
        torch = _torch()
        torch._dynamo.reset()
        function = _func(task)
        compiled = torch.compile(function, dynamic=False, **task.options)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # advice of Inductor about this machine
            _, seconds = timed(lambda: compiled(*args))  # it compiles on the first call
            self._synchronize(device)
        return Prepared(compiled, Phases(compile_s=seconds), compile_count=_graphs)


class TorchScript(Torch):
    """TorchScript, by tracing."""

    name = "torchscript"
    title = "TorchScript"
    compiles = True

    def prepare(self, task: Task, args: Sequence[Any], device: str) -> Prepared:
        torch = _torch()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # deprecated, and outspoken about it
            function = _func(replace(task, grad=()))
            script, seconds = timed(
                lambda: torch.jit.trace(function, tuple(args), check_trace=False)
            )
        if task.grad:
            if task.vmap:
                raise Refusal("TorchScript has no per-example gradients.")
            return Prepared(_taped(script, task.grad), Phases(trace_s=seconds))
        return Prepared(
            script, Phases(trace_s=seconds), probe=lambda: _script_warning(script, args)
        )

    def bind_context(self, work: Callable[[], Any]) -> Callable[[], Any]:
        """Inference mode is set per thread, and its arrays must not be changed outside it."""
        torch = _torch()
        return torch.inference_mode(bool(torch.is_inference_mode_enabled()))(work)


def _script_warning(script: Any, args: Sequence[Any]) -> BenchWarning | None:
    """J102, where the executor folded a script into constants, which it does in its first runs.

    `torch.jit.last_executed_optimized_graph`, seen on PyTorch 2.13; without it there is no warning.
    """
    torch = _torch()
    for _ in range(_RUNS_TO_OPTIMIZE):
        script(*args)
    try:
        kinds = {node.kind() for node in torch.jit.last_executed_optimized_graph().nodes()}
    except (AttributeError, RuntimeError):
        return None
    return None if kinds - _NOTHING else programs.computes_nothing()


def _torch() -> Any:
    import torch  # pyright: ignore[reportMissingImports]

    return torch


def _named(device: str) -> str:
    return device.replace("gpu", "cuda")


def _taped(function: Callable[..., Any], positions: tuple[int, ...]) -> Callable[..., Any]:
    """The gradient by PyTorch's tape: a forward pass that records, then a backward pass."""
    torch = _torch()

    def gradient(*args: Any) -> Any:
        leaves = list(args)
        for position in positions:
            leaves[position] = args[position].detach().requires_grad_()
        wanted = [leaves[position] for position in positions]
        found = torch.autograd.grad(function(*leaves), wanted)
        return found[0] if len(positions) == 1 else found

    return gradient


def _func(task: Task) -> Callable[..., Any]:
    return task.transformed(_torch().func.grad, _torch().func.vmap)


def _names_autograd(function: Any) -> bool:
    """Whether the code, or a function inside it, names part of autograd."""
    held = [cell.cell_contents for cell in getattr(function, "__closure__", None) or ()]
    pending: list[Any] = [getattr(f, "__code__", None) for f in (function, *held)]
    while pending:
        code = pending.pop()
        if not isinstance(code, types.CodeType):
            continue
        if _GRADIENTS & {*code.co_names, *code.co_freevars}:
            return True
        pending += code.co_consts
    return False


def _graphs() -> int:
    """The number of graphs that Dynamo has compiled; 0 for a PyTorch that counts them elsewhere."""
    try:
        from torch._dynamo.utils import counters  # pyright: ignore[reportMissingImports]

        return int(counters["stats"]["unique_graphs"])
    except (ImportError, KeyError, AttributeError):
        return 0


def _cpu_peak(call: Callable[[], Any]) -> int | Unavailable:
    """The highest sum of PyTorch's own allocation events during one call."""
    torch = _torch()
    if torch.cuda.is_available():
        return Unavailable("PyTorch's profiler would take the GPU from JAX's until a restart")
    try:
        with (
            _without_notices(),
            torch.profiler.profile(
                activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True
            ) as profile,
        ):
            call()
        events = [e for e in profile.profiler.kineto_results.events() if e.name() == "[memory]"]
        events.sort(key=lambda event: event.start_ns())
        held = peak = 0
        for event in events:
            held += event.nbytes()
            peak = max(peak, held)
        return peak
    except Exception as error:  # the profiler's results are not public
        return Unavailable(f"this PyTorch does not report its allocations ({type(error).__name__})")


@contextmanager
def _without_notices() -> Generator[None]:
    """Filter out the lines `USDT:… profiler_start` that PyTorch 2.13 writes to the standard error
    of the process, bypassing Python; other lines are passed on."""
    with tempfile.TemporaryFile() as kept:
        sys.stderr.flush()
        saved = os.dup(2)
        os.dup2(kept.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(saved, 2)
            os.close(saved)
            kept.seek(0)
            for line in kept.read().decode(errors="replace").splitlines():
                if not line.startswith("USDT:"):
                    sys.stderr.write(f"{line}\n")
