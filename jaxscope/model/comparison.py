"""Contestants measured side by side: raw rounds kept, statistics computed in `analysis.stats`."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from enum import StrEnum

from jaxscope.model.program import Cost
from jaxscope.model.record import Environment
from jaxscope.model.stage import Unavailable

_NOT_COMPILED = Unavailable("nothing is compiled")
_NOT_MEASURED = Unavailable("not measured")
_NOT_CHECKED = Unavailable("not checked")
_NOT_COUNTED = Unavailable("not counted")

COMPARISON_SCHEMA = 1
"""The version of the JSON form of a comparison. What each version changed:

1: the first.
"""


class Mode(StrEnum):
    """What a call's time is. The two are never mixed in one comparison."""

    LATENCY = "latency"
    """Every call is waited for before the next one begins."""
    THROUGHPUT = "throughput"
    """The calls of a round are issued one after the other, and waited for at its end."""


class Verdict(StrEnum):
    """What the interval of a ratio allows to say."""

    FASTER = "faster"
    SLOWER = "slower"
    SAME = "same"
    UNCLEAR = "unclear"


@dataclass(frozen=True, slots=True)
class Ratio:
    """The time of one row over that of another: below 1 is faster."""

    estimate: float
    low: float
    """Lower end of the 95 % interval, of this session, or of sessions like those measured."""
    high: float
    verdict: Verdict
    why: str = ""
    """What makes an unclear verdict unclear, as one sentence."""
    rounds: int = 0
    autocorrelation: float = 0.0
    """Of a round's ratio with the next round's: near 0 unless something drifts."""
    sessions: tuple[float, ...] = ()
    """The estimate of each session, when there were several."""
    paired: bool = True
    """Taken round by round; False for a comparison with a stored baseline."""


@dataclass(frozen=True, slots=True)
class Doubt:
    """Something to know before a number is believed, with its code: `J304`."""

    code: str
    text: str


@dataclass(frozen=True, slots=True)
class Rounds:
    """What one contestant took in one process. Round i is the same moment for every row."""

    seconds: tuple[float, ...]
    """Seconds a call, one number a round: the mean of `inner` calls run back to back."""
    inner: int = 1
    dropped: tuple[int, ...] = ()
    """Rounds left out of the statistics, by number and never by value."""
    recompiled: tuple[int, ...] = ()
    """Rounds in which something compiled."""
    preempted: tuple[int, ...] = ()
    """Rounds in which the thread was made to wait for a CPU."""
    warmup: tuple[float, ...] = ()
    """Seconds of the calls before the rounds."""

    @property
    def kept(self) -> tuple[float, ...]:
        """The rounds that count."""
        if not self.dropped:
            return self.seconds
        dropped = set(self.dropped)
        return tuple([s for i, s in enumerate(self.seconds) if i not in dropped])


@dataclass(frozen=True, slots=True)
class Phases:
    """Seconds of the compilation before the first call."""

    trace_s: float = 0.0
    lower_s: float = 0.0
    compile_s: float = 0.0
    """In XLA, or in whatever compiler the contestant has."""

    @property
    def total_s(self) -> float:
        return self.trace_s + self.lower_s + self.compile_s


@dataclass(frozen=True, slots=True)
class Row:
    """One contestant on one device at one size."""

    label: str
    """What the user calls it: `jax`, `jax: fused`."""
    contestant: str
    """Its registered name: `numpy`, `jax`, `jax-eager`, `torch`, `c` …"""
    device: str = ""
    size: tuple[tuple[str, float], ...] = ()
    """`(("n", 64),)`; empty when there is only one."""
    dtype: str = ""
    """Of the results, such as `float32`; several joined by `/`."""
    sessions: tuple[Rounds, ...] = ()
    """One entry a process. Empty when nothing was measured; then `failure` says why."""
    failure: str = ""
    """Why there are no rounds, or why they ended early. A whole sentence."""
    compile: Phases | Unavailable = _NOT_COMPILED
    first_call_s: float | None = None
    """The first call after compiling, with whatever it sets up."""
    transfer_s: float | None = None
    """Placing the inputs on the device."""
    dispatch: tuple[float, ...] = ()
    """Seconds until a call returns without waiting for its results; empty where both are one."""
    kernel_s: float | Unavailable = _NOT_MEASURED
    """Seconds a call on the device itself, from a profiler pass apart from the rounds."""
    peak_bytes: int | Unavailable = _NOT_MEASURED
    error: float | Unavailable = _NOT_CHECKED
    """Largest difference from the float64 reference, over the largest value there."""
    error_limit: float | None = None
    cost: Cost | Unavailable = _NOT_COUNTED
    threads: int | None = None
    """Threads that the library may use."""
    warnings: tuple[Doubt, ...] = ()

    @property
    def samples(self) -> tuple[float, ...]:
        """Seconds a call, the rounds that count of every session."""
        return tuple([s for rounds in self.sessions for s in rounds.kept])

    @property
    def measured(self) -> bool:
        return any(rounds.seconds for rounds in self.sessions)

    @property
    def agrees(self) -> bool | None:
        """Whether the results are the reference's; None when they were not compared."""
        if isinstance(self.error, Unavailable) or self.error_limit is None:
            return None
        return self.error <= self.error_limit

    @property
    def dispatch_s(self) -> float | None:
        return statistics.median(self.dispatch) if self.dispatch else None


@dataclass(frozen=True, slots=True)
class Machine:
    """What went on on the machine meanwhile. None where the system does not say."""

    cores: int | None = None
    load: float | None = None
    """Load average of the last minute, at the start."""
    pressure: float | None = None
    """Percent of the run in which some task waited for a CPU."""
    others: float | None = None
    """Percent of all cores' time that other processes took."""
    steal: float | None = None
    """Percent of the run that the host took from this virtual machine."""
    governor: str = ""
    throttled: str = ""
    """Why a device slowed its clock down, in its driver's words."""


@dataclass(frozen=True, slots=True)
class ComparisonRecord:
    """One comparison as data: frozen, JSON by construction."""

    title: str
    created: str
    """ISO 8601, UTC."""
    environment: Environment
    rows: tuple[Row, ...]
    """Sizes in order, and within each the contestants in the order they were given."""
    baseline: str = ""
    """The label that ratios are against unless another is asked for."""
    mode: Mode = Mode.LATENCY
    machine: Machine = Machine()
    versions: tuple[tuple[str, str], ...] = ()
    """Libraries beside jax: `("numpy", "2.4.6")`."""
    warnings: tuple[Doubt, ...] = ()
    """Doubts that hold for every row."""
    stopped: str = ""
    """Why the run ended before its end, and how far it came."""
    notes: tuple[str, ...] = ()
    wall_s: float | None = None
    schema: int = COMPARISON_SCHEMA

    @property
    def sizes(self) -> tuple[tuple[tuple[str, float], ...], ...]:
        """The sizes, in order."""
        return tuple(dict.fromkeys([row.size for row in self.rows]))

    def at(self, size: tuple[tuple[str, float], ...]) -> tuple[Row, ...]:
        """The rows of one size: those whose rounds belong together."""
        return tuple([row for row in self.rows if row.size == size])
