"""JAX: the function jitted, or run eagerly."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax

from jaxscope.analysis.cluster.divergence import program_hash
from jaxscope.analysis.cost import counted
from jaxscope.bench.frameworks.implementation import Implementation, Prepared, Refusal, Task, timed
from jaxscope.bench.rounds import device_time
from jaxscope.bench.rounds.watchdog import run_on_thread
from jaxscope.bench.warnings import programs
from jaxscope.capture.devices import devices, memory
from jaxscope.capture.program import describe
from jaxscope.capture.program.stages import Handles
from jaxscope.capture.timing.sampling import waiting
from jaxscope.model import Memory, StageKind, Unavailable
from jaxscope.model.comparison import BenchWarning, Phases

_OTHER_TRACE = "from a different trace level"  # in an error of Flax's own
_CHANGES_OBJECT = (
    "The code changes a Flax NNX object that is not an input: benchmark the call of its `nnx.jit` "
    "function alone."
)


class _Jax(Implementation):
    """Shared by jitted and eager code."""

    framework = "jax"
    releases_gil = True

    def devices(self) -> tuple[str, ...]:
        """One of each kind: emulated CPU devices share the cores, and equal GPUs are equal."""
        kinds: dict[tuple[str, str], str] = {}
        for device in devices.devices():
            kinds.setdefault((device.platform, device.kind), device.name)
        return tuple(kinds.values())

    def sees(self, device: str) -> bool:
        return any(found.name == device for found in devices.devices())

    def namespace(self) -> Any:
        return jax.numpy

    def put(self, array: Any, device: str) -> Any:
        return jax.block_until_ready(jax.device_put(array, devices.find(device)))

    def waiting(self, outputs: Any, device: str) -> Callable[[Any], Any] | None:
        return waiting(outputs)

    def leaves(self, outputs: Any) -> list[Any]:
        return jax.tree_util.tree_leaves(outputs)

    def to_numpy(self, leaf: Any) -> Any:
        """A NumPy array of one leaf; of typed random keys, their data."""
        if isinstance(leaf, jax.Array) and jax.numpy.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            leaf = jax.random.key_data(leaf)
        return super().to_numpy(leaf)

    def bind_context(self, work: Callable[[], Any]) -> Callable[[], Any]:
        """Precision may be set for this thread only; without it a call elsewhere recompiles."""
        x64 = _x64()

        def alike() -> Any:
            if _x64() == x64:
                return work()
            with jax.enable_x64(x64):
                return work()

        return alike

    def device_s(
        self, call: Callable[..., Any], seconds: float, device: str
    ) -> float | Unavailable:
        return device_time.device_seconds(call, seconds)


class JaxEager(_Jax):
    """Each operation is a program of its own, as jax.numpy runs outside any jit."""

    name = "jax-eager"
    title = "JAX eager"

    def prepare(self, task: Task, args: Sequence[Any], device: str) -> Prepared:
        call = task.transformed(jax.grad, jax.vmap)
        # `jax.grad` copies a 1 to the device in each call, which no change of the code avoids.
        plain = dataclasses.replace(task, grad=()).transformed(jax.grad, jax.vmap)
        target = devices.find(device)
        if target != jax.local_devices()[0]:
            # Arrays that the code creates must be on the device of its inputs.
            call, plain = _on(call, target), _on(plain, target)
        slow = programs.slow_path()
        return Prepared(
            call,
            warnings=() if slow is None else (slow,),
            probe=lambda: programs.transfer(lambda: plain(*args)),
        )

    def peak_bytes(self, call: Callable[[], Any], device: str) -> int | Unavailable:
        peak = (devices.find(device).memory_stats() or {}).get("peak_bytes_in_use")
        if peak is None:
            return Unavailable("JAX does not count the memory of eager code on this device")
        return int(peak)


class JaxJit(_Jax):
    """The function under `jax.jit`, compiled before its first call."""

    name = "jax"
    title = "JAX jit"
    compiles = True

    def prepare(self, task: Task, args: Sequence[Any], device: str) -> Prepared:
        jitted = _jitted(task, args, device)
        try:
            traced, trace_s = timed(lambda: jitted.trace(*args))
        except Exception as error:
            if _OTHER_TRACE in str(error):
                raise Refusal(_CHANGES_OBJECT) from error
            raise
        lowered, lower_s = timed(traced.lower)
        what = f"{task.label}: XLA's compilation"
        compiled, compile_s = timed(
            lambda: run_on_thread(lowered.compile, task.compile_s, what, task.notify)
        )
        handles = Handles(traced, lowered, compiled)
        needs = memory.memory(compiled)
        if isinstance(needs, Memory):
            too_much = memory.fits(needs, devices.find(device))
            if too_much:
                raise Refusal(too_much)
        readable = counted(handles.text(StageKind.OPTIMIZED_HLO).text) is not None
        unread = Unavailable("the optimized HLO of this XLA could not be read")
        donated = tuple(
            [i for i, info in enumerate(describe.argument_infos(handles)) if info.donated]
        )
        return Prepared(
            jitted,
            Phases(trace_s, lower_s, compile_s),
            refresh=donated,
            peak_bytes=needs.peak if isinstance(needs, Memory) else needs,
            cost=describe.cost(handles) if readable else unread,
            warnings=_warnings(handles, task, donated, compile_s),
            probe=None if donated else lambda: programs.transfer(lambda: jitted(*args)),
            program=program_hash(handles.text(StageKind.STABLEHLO).text),
        )


def _warnings(
    handles: Handles, task: Task, donated: tuple[int, ...], compile_s: float
) -> tuple[BenchWarning, ...]:
    try:
        found = list(programs.program_warnings(handles, bool(task.grad)))
    except Exception:  # a JAX whose jaxprs look different: fewer warnings
        found = []
    more = (
        programs.donation(donated, task.names),
        programs.slow_path(),
        programs.slow_compile(compile_s),
    )
    return (*found, *[warning for warning in more if warning is not None])


def _jitted(task: Task, args: Sequence[Any], device: str) -> Any:
    """A fresh jit, so that the whole compilation is timed; the user's own jit is kept."""
    function = task.transformed(jax.grad, jax.vmap)
    if function is task.function and hasattr(function, "trace") and not task.options:
        return function

    @functools.wraps(function)  # so that it is attributed to the user's own code
    def fresh(*arguments: Any) -> Any:
        return function(*arguments)

    fresh.__name__ = str(getattr(task.function, "__name__", "fresh")).replace("<lambda>", "f")
    options = {name: task.options[name] for name in ("donate_argnums",) if name in task.options}
    if not any(isinstance(leaf, jax.Array) for leaf in args):
        # Without inputs nothing else determines the device.
        options["out_shardings"] = jax.sharding.SingleDeviceSharding(devices.find(device))
    return jax.jit(fresh, **options)


def _x64() -> bool:
    return jax.dtypes.canonicalize_dtype("float64") == "float64"


def _on(call: Callable[..., Any], device: Any) -> Callable[..., Any]:
    @functools.wraps(call)
    def placed(*args: Any) -> Any:
        with jax.default_device(device):
            return call(*args)

    return placed
