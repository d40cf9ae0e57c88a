"""Implementations measured side by side: raw rounds; `analysis.comparison` computes statistics."""

from __future__ import annotations

import statistics
from dataclasses import KW_ONLY, dataclass
from enum import StrEnum

from jaxscope.model.program import Cost
from jaxscope.model.record import Environment
from jaxscope.model.stage import Unavailable

_NOT_COMPILED = Unavailable("nothing is compiled")
_NOT_MEASURED = Unavailable("not measured")
_NOT_CHECKED = Unavailable("not checked")
_NOT_COUNTED = Unavailable("not counted")

JUST_OVER = 1.1
"""Results agree up to this many times their tolerance, with a note from the tolerance on. A
tolerance is a bound of rounding errors and known to a digit at most: 0.00031 is not told from
0.0003."""

COMPARISON_SCHEMA = 1
"""The version of the JSON form of a comparison. What each version changed:

1: the first.
"""


class TimingMode(StrEnum):
    """The meaning of a call's time. The two are never mixed in one comparison."""

    LATENCY = "latency"
    """Every call is waited for before the next one begins."""
    THROUGHPUT = "throughput"
    """The calls of a round are issued one after the other, and waited for at its end."""


class RatioVerdict(StrEnum):
    """The conclusion that the interval of a ratio supports."""

    FASTER = "faster"
    SLOWER = "slower"
    SAME = "same"
    UNCLEAR = "unclear"
    NOT_COMPARED = "not compared"
    """One of the two did different work, or none, so their times say nothing of each other."""


@dataclass(frozen=True, slots=True)
class Ratio:
    """The time of one row over that of another: below 1 is faster."""

    estimate: float
    low: float
    """Lower end of the 95 % interval, of this process, or of processes like those measured."""
    high: float
    verdict: RatioVerdict
    why: str = ""
    """The reason for an unclear or missing verdict, as one sentence."""
    _: KW_ONLY
    rounds: int = 0
    autocorrelation: float = 0.0
    """Of a round's ratio with the next round's: near 0 unless something drifts."""
    processes: tuple[float, ...] = ()
    """The estimate of each process, when there were several."""
    paired: bool = True
    """Taken round by round; False for a comparison with a stored baseline."""


@dataclass(frozen=True, slots=True)
class BenchWarning:
    """A reason to distrust a number, with its code: `J304`."""

    code: str
    text: str


@dataclass(frozen=True, slots=True)
class Rounds:
    """Times of one implementation in one process. Round i is the same moment for every row."""

    seconds: tuple[float, ...]
    """Seconds per call, one number per round: the mean of `inner` calls run back to back."""
    inner: int = 1
    dropped: tuple[int, ...] = ()
    """Rounds left out of the statistics, by number and never by value."""
    recompiled: tuple[int, ...] = ()
    """Rounds in which something compiled."""
    preempted: tuple[int, ...] = ()
    """Rounds in which the thread had to wait for a CPU."""
    _: KW_ONLY
    warmup: tuple[float, ...] = ()
    """Seconds per call before the rounds."""

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
    """In XLA, or in the implementation's own compiler."""

    @property
    def total_s(self) -> float:
        return self.trace_s + self.lower_s + self.compile_s


@dataclass(frozen=True, slots=True)
class ComparisonRow:
    """One implementation on one device at one size."""

    label: str
    """The user's name for it: `jax`, `jax: fused`."""
    implementation: str
    """Its registered name: `numpy`, `jax`, `jax-eager`, `torch`, `c` …"""
    device: str = ""
    size: tuple[tuple[str, float], ...] = ()
    """`(("n", 64),)`; empty when there is only one."""
    dtype: str = ""
    """Of the results, such as `float32`; several joined by `/`."""
    _: KW_ONLY
    title: str = ""
    """Its name on the screen, such as `JAX jit: fused`; empty: the label."""
    framework: str = ""
    """The library whose arrays and runtime it uses: `jax`, `numpy`, `torch`; empty if none of
    these."""
    compiles: bool = False
    """Whether it compiles the function as a whole before the first call."""
    processes: tuple[Rounds, ...] = ()
    """The rounds of each process. Empty when nothing was measured; then `failure` has the
    reason."""
    twin: tuple[Rounds, ...] = ()
    """The baseline of a busy machine once more, in the same rounds of each process: its ratio to
    itself is the difference that the load alone makes. Empty without load and for the others."""
    failure: str = ""
    """The reason for missing rounds, or for their early end. A whole sentence."""
    compile: Phases | Unavailable = _NOT_COMPILED
    first_call_s: float | None = None
    """The first call after compiling, with the one-time work that it triggers."""
    transfer_s: float | None = None
    """Placing the inputs on the device."""
    dispatch: tuple[float, ...] = ()
    """Seconds until a call returns without waiting for its results; empty where both are one."""
    device_s: float | Unavailable = _NOT_MEASURED
    """Seconds per call on the device itself, from a profiler pass apart from the rounds."""
    peak_bytes: int | Unavailable = _NOT_MEASURED
    error: float | Unavailable = _NOT_CHECKED
    """Largest difference from the float64 reference, over the largest value there."""
    error_limit: float | None = None
    cost: Cost | Unavailable = _NOT_COUNTED
    threads: int | None = None
    """Threads that the library may use."""
    program: str = ""
    """Hash of the StableHLO, equal on every machine; empty where nothing was compiled by JAX."""
    norms: tuple[float, ...] = ()
    """Euclidean norm of each result, for comparison with a different process."""
    warnings: tuple[BenchWarning, ...] = ()

    @property
    def samples(self) -> tuple[float, ...]:
        """Seconds per call, of the rounds that count in every process."""
        return tuple([s for rounds in self.processes for s in rounds.kept])

    @property
    def measured(self) -> bool:
        return any(rounds.seconds for rounds in self.processes)

    @property
    def is_jitted_jax(self) -> bool:
        """Whether it is JAX code that is compiled as a whole."""
        return self.framework == "jax" and self.compiles

    @property
    def agrees(self) -> bool | None:
        """Whether the results match the reference; None when they were not compared."""
        if isinstance(self.error, Unavailable) or self.error_limit is None:
            return None
        return self.error <= self.error_limit * JUST_OVER

    @property
    def dispatch_s(self) -> float | None:
        return statistics.median(self.dispatch) if self.dispatch else None


@dataclass(frozen=True, slots=True)
class Machine:
    """The state of the machine during the run. None where the system does not report it."""

    cores: int | None = None
    load: float | None = None
    """Load average of the last minute, at the start."""
    pressure: float | None = None
    """Percent of the run in which some task waited for a CPU."""
    others: float | None = None
    """Percent of all cores' time that other processes took."""
    steal: float | None = None
    """Percent of the run that the host took from this virtual machine."""
    _: KW_ONLY
    governor: str = ""
    throttled: str = ""
    """The reason for a device's reduced clock, as its driver reports it."""


@dataclass(frozen=True, slots=True)
class ComparisonRecord:
    """One comparison as data: frozen, JSON by construction."""

    title: str
    created: str
    """ISO 8601, UTC."""
    environment: Environment
    rows: tuple[ComparisonRow, ...]
    """Sizes in order, and within each the implementations in the order they were given."""
    baseline: str = ""
    """The label that ratios are against by default."""
    _: KW_ONLY
    mode: TimingMode = TimingMode.LATENCY
    machine: Machine = Machine()
    versions: tuple[tuple[str, str], ...] = ()
    """Libraries beside jax: `("numpy", "2.4.6")`."""
    warnings: tuple[BenchWarning, ...] = ()
    """Warnings that hold for every row."""
    stopped: str = ""
    """The reason for an early end of the run, and its progress until then."""
    notes: tuple[str, ...] = ()
    wall_s: float | None = None
    schema: int = COMPARISON_SCHEMA

    @property
    def sizes(self) -> tuple[tuple[tuple[str, float], ...], ...]:
        """The sizes, in order."""
        return tuple(dict.fromkeys([row.size for row in self.rows]))

    def at(self, size: tuple[tuple[str, float], ...]) -> tuple[ComparisonRow, ...]:
        """The rows of one size: those whose rounds belong together."""
        return tuple([row for row in self.rows if row.size == size])
