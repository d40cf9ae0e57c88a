"""The interface between the benchmark and a framework; plug-ins subclass `Implementation`.

A plug-in is a class with a `name` and the few methods in which its framework differs from NumPy,
announced under the entry-point group `jaxscope.implementations`. See `docs/benchmark-method.md`.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

from jaxscope.model import Cost, Unavailable
from jaxscope.model.comparison import BenchWarning, Phases


class Refusal(Exception):
    """The implementation cannot run the task; the whole sentence becomes its row's reason."""


@dataclass(frozen=True, slots=True)
class Task:
    """The work of one implementation."""

    label: str
    function: Callable[..., Any] | str
    """Takes the inputs in order, arrays of this implementation; a string for compilers of source
    text."""
    names: tuple[str, ...] = ()
    """Of the inputs, in order."""
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    grad: tuple[int, ...] = ()
    """Positions to differentiate for."""
    _: KW_ONLY
    vmap: tuple[int | None, ...] = ()
    """The batch axis of each input."""
    compile_s: float = 120.0
    """A compilation that takes longer is abandoned."""
    notify: Callable[[str], None] = lambda text: None
    """Show a line of progress."""

    @property
    def callable(self) -> Callable[..., Any]:
        """The function. Raises Refusal for source text."""
        if isinstance(self.function, str):
            raise Refusal("This implementation runs Python functions, and was given source text.")
        return self.function

    def transformed(self, grad: Callable[..., Any], vmap: Callable[..., Any]) -> Callable[..., Any]:
        """`vmap(grad(f))` by a framework's own transforms: per-example gradients where both are
        requested."""
        function = self.callable
        if self.grad:
            function = grad(function, self.grad[0] if len(self.grad) == 1 else self.grad)
        return vmap(function, self.vmap) if self.vmap else function


@dataclass(slots=True)
class Prepared:
    """A function that is ready to be called and timed."""

    call: Callable[..., Any]
    phases: Phases | Unavailable = Unavailable("nothing is compiled")  # noqa: RUF009
    bound: bool = False
    """The inputs are bound already: `call` takes no arguments."""
    refresh: tuple[int, ...] = ()
    """Positions of inputs that a call consumes, so that each call needs fresh ones."""
    peak_bytes: int | Unavailable | None = None
    """None: measured by `Implementation.peak_bytes`."""
    _: KW_ONLY
    cost: Cost | Unavailable = Unavailable("only XLA's programs can be counted")  # noqa: RUF009
    warnings: tuple[BenchWarning, ...] = ()
    probe: Callable[[], BenchWarning | None] | None = None
    """Make one more call, after the first one and outside the rounds, to look for a warning."""
    program: str = ""
    """Hash of the program, equal wherever the same one is compiled; empty where unknown."""
    compile_count: Callable[[], int] | None = None
    """Rises whenever a call compiles."""


class Implementation:
    """One framework. By default it runs NumPy-like code on the CPU; override what differs.

    The order of calls for one row: `missing`, `devices`, `namespace`, `put` for each input,
    `prepare`, then inside `context` the calls themselves, each waited for by the function that
    `waiting` returns, and `to_numpy` for the check.
    """

    name: str = ""
    """The name on the line: `--vs numpy,torch`. Nothing is derived from it."""
    title: str = ""
    """The name on the screen, such as `JAX jit`; empty: the name."""
    framework: str = ""
    """The library whose arrays and runtime it uses: `jax`, `numpy` or `torch`; empty if none of
    these. Decides which warnings, dtypes and references apply."""
    compiles: bool = False
    """Whether it compiles the function as a whole before the first call."""
    releases_gil: bool = False
    """Its calls release the GIL, so that the first one can be watched from a different thread and
    abandoned when it hangs."""

    def missing(self) -> str:
        """The reason why it is not available here, as a whole sentence; empty when it is."""
        return ""

    def versions(self) -> tuple[tuple[str, str], ...]:
        """`(("numpy", "2.4.6"),)`."""
        return ()

    def devices(self) -> tuple[str, ...]:
        """Its devices, one of each kind, as `cpu:0` or `gpu:0`."""
        return ("cpu:0",)

    def sees(self, device: str) -> bool:
        """Whether it has this device, listed or a further one of its kind."""
        return device in self.devices()

    def namespace(self) -> Any:
        """The array namespace for functions that take one."""
        raise Refusal(f"`{self.name}` has no array namespace: give it a section of its own.")

    def put(self, array: Any, device: str) -> Any:
        """Its own array, ready on the device, of a NumPy array that nothing else refers to."""
        return array

    def prepare(self, task: Task, args: Sequence[Any], device: str) -> Prepared:
        """The function ready to be called; compiled, where there is something to compile."""
        if task.grad:
            raise Refusal(f"`{self.name}` has no gradients.")
        if task.vmap:
            raise Refusal(f"`{self.name}` has no vmap.")
        return Prepared(task.callable)

    def waiting(self, outputs: Any, device: str) -> Callable[[Any], Any] | None:
        """The cheapest function that waits for outputs like these; None for synchronous calls."""
        return None

    def leaves(self, outputs: Any) -> list[Any]:
        """The arrays among the outputs of a call, in order."""
        if isinstance(outputs, Mapping):
            return [leaf for key in sorted(outputs) for leaf in self.leaves(outputs[key])]
        if isinstance(outputs, (tuple, list)):
            return [leaf for item in outputs for leaf in self.leaves(item)]
        return [] if outputs is None else [outputs]

    def to_numpy(self, leaf: Any) -> Any:
        """A NumPy array of one leaf."""
        import numpy

        return numpy.asarray(leaf)

    @contextmanager
    def context(self, task: Task, device: str) -> Generator[None]:
        """Entered once around all calls, as a user would enter it once."""
        yield

    def bind_context(self, work: Callable[[], Any]) -> Callable[[], Any]:
        """Wrap `work` so that a different thread runs it under this thread's settings."""
        return work

    def threads(self) -> int | None:
        """The number of threads that its calls may use, if it reports it."""
        return None

    def device_s(
        self, call: Callable[..., Any], seconds: float, device: str
    ) -> float | Unavailable:
        """Seconds per call on the device itself; `call()` waits for its results, `call(wait=False)`
        does not. Never while timing.

        `seconds` is the expected time of a call.
        """
        return Unavailable("the call runs on the host, so its time is the device time")

    def peak_bytes(self, call: Callable[[], Any], device: str) -> int | Unavailable:
        """The most that one call allocates, its results included."""
        return Unavailable("this implementation does not report its allocations")


def import_failure(module: str, title: str, package: str) -> str:
    """The reason why a framework cannot be imported, as a sentence; empty when it can be."""
    try:
        importlib.import_module(module)
    except ImportError as error:
        if (name := getattr(error, "name", "")) and f"{module}.".startswith(f"{name}."):
            return f"{title} is not installed here: `pip install {package}`."
        return f"{title} cannot be imported here: {error}."
    except Exception as error:  # a build for other hardware, or for a different NumPy
        return f"{title} cannot be imported here: {type(error).__name__}: {error}."
    return ""


def gpus(kinds: Sequence[str]) -> tuple[str, ...]:
    """The first GPU of each kind, by the kinds of all."""
    return tuple(f"gpu:{kinds.index(kind)}" for kind in dict.fromkeys(kinds))


def arrays_of(implementation: Implementation, outputs: Any) -> list[Any]:
    """The outputs of a call as NumPy arrays, in order; they may share memory with them."""
    import numpy

    found = implementation.leaves(outputs)
    return [numpy.asarray(implementation.to_numpy(leaf)) for leaf in found]


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """The result of `work`, and its seconds."""
    start = time.perf_counter()
    result = work()
    return result, time.perf_counter() - start
