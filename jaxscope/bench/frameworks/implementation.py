"""What a framework must say of itself to take part; plug-ins subclass `Contestant`.

A plug-in is a class with a `name` and the few methods in which its framework differs from NumPy,
announced under the entry-point group `jaxscope.contestants`. See `docs/benchmark-method.md`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from jaxscope.model import Cost, Unavailable
from jaxscope.model.comparison import Doubt, Phases


class Refusal(Exception):
    """This contestant cannot do what is asked; the whole sentence becomes its row's reason."""


@dataclass(frozen=True, slots=True)
class Task:
    """What one contestant is to run."""

    label: str
    function: Callable[..., Any] | str
    """Takes the inputs in order, arrays of this contestant; a text for compilers of text."""
    names: tuple[str, ...] = ()
    """Of the inputs, in order."""
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    grad: tuple[int, ...] = ()
    """Positions to differentiate for."""
    vmap: tuple[int | None, ...] = ()
    """The batch axis of each input."""
    compile_s: float = 120.0
    """A compilation that takes longer is given up."""
    say: Callable[[str], None] = lambda text: None
    """Tells the user what is going on."""

    @property
    def callable(self) -> Callable[..., Any]:
        """The function; refuses a text."""
        if isinstance(self.function, str):
            raise Refusal("This contestant runs Python functions, and was given a text.")
        return self.function


@dataclass(slots=True)
class Prepared:
    """A function that is ready to be called and timed."""

    call: Callable[..., Any]
    phases: Phases | Unavailable = Unavailable("nothing is compiled")  # noqa: RUF009
    bound: bool = False
    """The call takes no arguments any more: they are bound already."""
    refresh: tuple[int, ...] = ()
    """Positions of inputs that a call uses up, so that each needs fresh ones."""
    peak_bytes: int | Unavailable | None = None
    """None: measured by a call of `Contestant.peak_bytes`."""
    cost: Cost | Unavailable = Unavailable("only XLA's programs can be counted")  # noqa: RUF009
    doubts: tuple[Doubt, ...] = ()
    observed: Callable[[], Doubt | None] | None = None
    """One more call, made after the first one and outside the rounds, that looks for a doubt."""
    compile_count: Callable[[], int] | None = None
    """Rises whenever a call compiles."""


class Contestant:
    """One framework. As it stands it runs NumPy-like code on the CPU; override what differs.

    The order of calls for one row: `missing`, `devices`, `namespace`, `put` for each input,
    `prepare`, then inside `session` the calls themselves, each waited for by what `waiting`
    returns, and `to_numpy` for the check.
    """

    name: str = ""
    """What users write: `--vs numpy,torch`."""
    apart: bool = False
    """Its calls give up the GIL, so the first one can be watched from outside and left behind when
    it hangs."""

    def missing(self) -> str:
        """Why it cannot take part here, as a whole sentence; empty when it can."""
        return ""

    def versions(self) -> tuple[tuple[str, str], ...]:
        """`(("numpy", "2.4.6"),)`."""
        return ()

    def devices(self) -> tuple[str, ...]:
        """The devices it sees, one of each kind, as `cpu:0` or `gpu:0`."""
        return ("cpu:0",)

    def sees(self, device: str) -> bool:
        """Whether it has this device, listed or a further one of its kind."""
        return device in self.devices()

    def namespace(self) -> Any:
        """The array namespace for functions that take one."""
        raise Refusal(f"`{self.name}` has no array namespace: give it a section of its own.")

    def put(self, array: Any, device: str) -> Any:
        """Its own array of a NumPy array that nobody else holds, ready on the device."""
        return array

    def prepare(self, task: Task, args: Sequence[Any], device: str) -> Prepared:
        """The function ready to be called; compiled, where there is something to compile."""
        if task.grad:
            raise Refusal(f"`{self.name}` has no gradients.")
        if task.vmap:
            raise Refusal(f"`{self.name}` has no vmap.")
        return Prepared(task.callable)

    def waiting(self, outputs: Any, device: str) -> Callable[[Any], Any] | None:
        """The cheapest call that waits for outputs like these; None when calls do not run ahead."""
        return None

    def leaves(self, outputs: Any) -> list[Any]:
        """The arrays in what a call returned, in order."""
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
    def session(self, task: Task, device: str) -> Generator[None]:
        """Entered once around all calls; what a user would enter once too."""
        yield

    def carried(self, work: Callable[[], Any]) -> Callable[[], Any]:
        """`work` for another thread, under the settings that this one has."""
        return work

    def threads(self) -> int | None:
        """How many threads its calls may use, if it says."""
        return None

    def kernel_s(self, call: Callable[[], Any], seconds: float, device: str) -> float | Unavailable:
        """Seconds a call on the device itself; `call` waits for its results. Never while timing."""
        return Unavailable("the call runs on the host, so its time is the kernel's")

    def peak_bytes(self, call: Callable[[], Any], device: str) -> int | Unavailable:
        """The most that one call allocates, its results included."""
        return Unavailable("this contestant does not tell")


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """What `work` returns, and its seconds."""
    start = time.perf_counter()
    result = work()
    return result, time.perf_counter() - start
