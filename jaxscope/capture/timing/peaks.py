"""Measured peaks of a device: matrix products and an in-place stream."""

from __future__ import annotations

import json
import math
import os
import platform
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from jaxscope import files
from jaxscope.analysis.cost.roofline import Peaks
from jaxscope.capture.compiles.listener import own_work
from jaxscope.capture.devices import memory
from jaxscope.capture.timing.earlier_work import wait_for_earlier_work
from jaxscope.capture.timing.sampling import Now, quiet_gc
from jaxscope.model.wire import SchemaError, from_json, to_json

_BUDGET_S = 0.5
_COMPILE_S = 0.05  # planned for one of these programs
_TURN_S = 5e-3  # of one program
_MOST = 1000
_LONG_S = 0.025  # a longer product is disturbed too often
_SIZES = (256, 512, 1024, 2048, 4096)
_GPU_SIZES = (2048, 8192)  # each is compiled in 0.6 to 1 s
_GPU_QUEUE = 20  # runs that are waited for together: a launch takes as long as a product of 2048
_AGREE = 0.95  # the third best run, of the best
_STREAM = 64 << 20  # bytes: more than the last-level cache of a CPU
_GPU_STREAM = 2 << 30  # blocks of 256 MB: 95 % of the rate of blocks of 1 GB on an H100
_BLOCKS = 8  # that are streamed in turn; a short run may find the cores free
_LARGEST = 1 << 20  # bytes of the cache; an entry has 300
_ROOM = 4  # the stream takes at most this fraction of the free memory


class PeakCache:
    """Peaks in this process and on disk, by kind of device, dtype and version of jaxlib."""

    def __init__(self, path: Path | None = None) -> None:
        """`path` defaults to `peaks.json` in the user's cache directory."""
        self._path = path or cache_directory() / "peaks.json"
        self._known: dict[str, Peaks] = {}
        self._measured: set[str] = set()

    def tried(self, device: Any, dtype: str = "float32") -> bool:
        """Whether this process has measured them."""
        return device_key(device, dtype) in self._measured

    def get(self, device: Any, dtype: str = "float32") -> Peaks | None:
        """The stored peaks of this kind of device; measures nothing."""
        key = device_key(device, dtype)
        if key not in self._known:
            stored = self._stored().get(key)
            if stored is not None and (found := _read(stored)) is not None:
                self._known[key] = found
        return self._known.get(key)

    def put(self, device: Any, found: Peaks, dtype: str = "float32") -> None:
        """Store the peaks; an unwritable disk is ignored."""
        key = device_key(device, dtype)
        self._known[key] = found
        self._measured.add(key)
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            files.write(self._path, json.dumps({**self._stored(), key: to_json(found)}, indent=1))
        except OSError:
            return

    def _stored(self) -> dict[str, Any]:
        try:
            stored = json.loads(files.read(self._path, _LARGEST))
        except (OSError, ValueError, EOFError, RecursionError):
            return {}
        return stored if isinstance(stored, dict) else {}


def _read(stored: Any) -> Peaks | None:
    """Stored peaks; None where a value cannot have been measured."""
    try:
        found = from_json(Peaks, stored)
    except SchemaError:  # written by another version
        return None
    pairs = ((found.flops_spread, found.flops), (found.bytes_spread, found.bytes_per_s))
    fits = all(0 < low <= high < math.inf and low <= best <= high for (low, high), best in pairs)
    return found if fits else None


def peaks(device: Any, cache: PeakCache, dtype: str = "float32", *, again: bool = False) -> Peaks:
    """The peaks of a `jax.Device`: cached, else (or with `again`) measured in about 0.5 s, on a GPU
    after two compilations of a second each.

    `dtype` is that of the products, at JAX's default precision: on a GPU, TF32 for `float32`.
    Peaks of a disturbed measurement are measured once more by each process, and the best remain.
    """
    known = None if again else cache.get(device, dtype)
    if known is not None and (known.settled or cache.tried(device, dtype)):
        return known
    found = measure_peaks(device, dtype)
    if known is not None:
        found = _best(known, found)
    cache.put(device, found, dtype)
    return found


def _best(known: Peaks, found: Peaks) -> Peaks:
    """The highest of two measurements: a disturbance only lowers a peak."""
    flops = max((known, found), key=lambda one: one.flops)
    moved = max((known, found), key=lambda one: one.bytes_per_s)
    return replace(
        found,
        flops=flops.flops,
        flops_spread=flops.flops_spread,
        bytes_per_s=moved.bytes_per_s,
        bytes_spread=moved.bytes_spread,
    )


def measure_peaks(device: Any, dtype: str = "float32", now: Now = time.perf_counter) -> Peaks:
    """Run programs for arithmetic and one for memory in turns, hidden from the compile log.

    Other processes only lower a rate. So many short runs are made, of which some find the cores
    free, and where the best ones differ there is three times as much time.
    """
    wait_for_earlier_work()
    with own_work(), quiet_gc():
        sizes = _SIZES if device.platform == "cpu" else _GPU_SIZES
        stream, products = _Stream(device), [_Product(device, sizes[0], dtype)]
        start = now()
        until, last = start + _BUDGET_S, start + 3 * _BUDGET_S
        while True:
            for kernel in (stream, *products):
                began = now()
                kernel.run(now)
                # Short ones several times: a core that is free now will not be so for long.
                while now() - began < _TURN_S and len(kernel.rates) < _MOST:
                    kernel.run(now)
            best = max(products, key=lambda one: max(one.rates))
            settled = stream.settled and best.settled
            if len(best.rates) > 1 and (now() > last or (now() > until and settled)):
                break
            size = next((n for n in sizes if n > products[-1].size), None)
            # For a first run and two more.
            seconds = (size / products[-1].size) ** 3 * products[-1].seconds if size else 0.0
            if size and seconds < _LONG_S and now() + _COMPILE_S + 3 * seconds < until:
                began = now()
                products.append(_Product(device, size, dtype))
                if device.platform != "cpu":  # whose compilation takes longer than the budget
                    until, last = until + now() - began, last + now() - began
    return Peaks(
        device=device.device_kind,
        flops=max(best.rates),
        bytes_per_s=max(stream.rates),
        flops_spread=(min(best.rates), max(best.rates)),
        bytes_spread=(min(stream.rates), max(stream.rates)),
        when=datetime.now(UTC).isoformat(timespec="seconds"),
        settled=settled,
    )


def device_key(device: Any, dtype: str = "float32") -> str:
    """Kind of device, dtype and version of jaxlib. Every CPU has the kind `cpu`, so its model and
    the number of available cores are added."""
    kind = str(device.device_kind)
    if device.platform == "cpu":
        affinity = getattr(os, "sched_getaffinity", None)  # Linux only
        cores = len(affinity(0)) if affinity is not None else os.cpu_count() or 1
        kind = f"{kind} {_cpu_model()} x{cores}"
    products = "" if dtype == "float32" else f" | {dtype}"
    return f"{kind}{products} | jaxlib {metadata.version('jaxlib')}"


def cache_directory() -> Path:
    """The user's cache directory for jaxscope."""
    if configured := os.environ.get("XDG_CACHE_HOME"):
        return Path(configured) / "jaxscope"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData/Local")) / "jaxscope"
    if sys.platform == "darwin":
        return Path.home() / "Library/Caches/jaxscope"
    return Path.home() / ".cache/jaxscope"


@dataclass(slots=True)
class _Kernel(ABC):
    """A program that is run again and again, with its rates."""

    rates: list[float] = field(default_factory=list[float])
    queue: int = 1
    """Runs that are waited for together."""

    @property
    def seconds(self) -> float:
        """Of its fastest run."""
        return self.work / max(self.rates)

    @property
    def settled(self) -> bool:
        """Whether the three best runs agree, as undisturbed ones do."""
        best = sorted(self.rates)[-3:]
        return len(best) == 3 and best[0] > _AGREE * best[-1]

    @property
    @abstractmethod
    def work(self) -> float:
        """FLOPs or bytes of one run."""

    @abstractmethod
    def call(self) -> Any:
        """Start one run; returns what to wait for."""

    def run(self, now: Callable[[], float]) -> None:
        began = now()
        started = [self.call() for _ in range(self.queue)]
        started[-1].block_until_ready()
        self.rates.append(self.queue * self.work / _positive(now() - began))


class _Stream(_Kernel):
    """Each element is read once and written once, one block of memory after the other.

    In place, by donation: a fresh output is ten times slower on a CPU, because its pages must be
    mapped.
    """

    def __init__(self, device: Any) -> None:
        import jax
        import jax.numpy as jnp

        super().__init__(queue=_queue(device))
        free = memory.free_bytes(device)
        size = _STREAM if device.platform == "cpu" else _GPU_STREAM
        size = size if free is None else max(min(size, free // _ROOM), 4096 * _BLOCKS)
        self._step = jax.jit(lambda x: x * 0.5 + 1.0, donate_argnums=0)
        with jax.default_device(device):
            made = [jnp.ones(size // 4 // _BLOCKS, jnp.float32) for _ in range(_BLOCKS)]
        self._blocks = [self._step(block).block_until_ready() for block in made]

    @property
    def work(self) -> float:
        return 2 * self._blocks[0].nbytes

    def call(self) -> Any:
        self._blocks.append(self._step(self._blocks.pop(0)))
        return self._blocks[-1]


class _Product(_Kernel):
    """A matrix product of random numbers: a GPU multiplies equal ones faster, for less power."""

    def __init__(self, device: Any, size: int, dtype: str) -> None:
        import jax
        import numpy as np

        super().__init__(queue=_queue(device))
        self.size = size
        self._product = jax.jit(lambda a: a @ a)
        some = np.random.default_rng(0).standard_normal(_SIZES[2] ** 2, np.float32)
        made = np.resize(some.astype(jax.numpy.dtype(dtype)), (size, size))
        self._a = jax.device_put(made, device)
        self.call().block_until_ready()

    @property
    def work(self) -> float:
        return 2 * self.size**3

    def call(self) -> Any:
        return self._product(self._a)


def _queue(device: Any) -> int:
    return 1 if device.platform == "cpu" else _GPU_QUEUE


def _positive(seconds: float) -> float:
    return max(seconds, 1e-9)


def _cpu_model() -> str:
    text = memory.read_text(Path("/proc/cpuinfo"))
    if not text:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in text.splitlines() if "model name" in line]
    return names[0] if names else platform.machine()
