"""Measured peaks of a device: float32 matrix products and an in-place stream."""

from __future__ import annotations

import json
import math
import os
import platform
import sys
import time
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
from jaxscope.capture.timing.sampling import Now, quiet_gc
from jaxscope.model.wire import SchemaError, from_json, to_json

_BUDGET_S = 0.5
_COMPILE_S = 0.05  # planned for one of these programs
_TURN_S = 5e-3  # of one program
_MOST = 1000
_LONG_S = 0.025  # a longer product is disturbed too often
_SIZES = (256, 512, 1024, 2048, 4096)
_AGREE = 0.95  # the third best run, of the best
_STREAM = 64 << 20  # bytes: more than the last-level cache of a CPU or GPU
_BLOCKS = 8  # that are streamed in turn; a short run may find the cores free
_LARGEST = 1 << 20  # bytes of the cache; an entry has 300
_ROOM = 4  # the stream takes at most this fraction of the free memory


class PeakCache:
    """Peaks in this process and on disk, by kind of device and version of jaxlib."""

    def __init__(self, path: Path | None = None) -> None:
        """`path` defaults to `peaks.json` in the user's cache directory."""
        self._path = path or cache_directory() / "peaks.json"
        self._known: dict[str, Peaks] = {}
        self._measured: set[str] = set()

    def tried(self, device: Any) -> bool:
        """Whether this process has measured them."""
        return device_key(device) in self._measured

    def get(self, device: Any) -> Peaks | None:
        """The stored peaks of this kind of device; measures nothing."""
        key = device_key(device)
        if key not in self._known:
            stored = self._stored().get(key)
            if stored is not None and (found := _read(stored)) is not None:
                self._known[key] = found
        return self._known.get(key)

    def put(self, device: Any, found: Peaks) -> None:
        """Store the peaks; an unwritable disk is ignored."""
        key = device_key(device)
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


def peaks(device: Any, cache: PeakCache, *, again: bool = False) -> Peaks:
    """The peaks of a `jax.Device`: cached, else (or with `again`) measured in about 0.5 s.

    Peaks of a disturbed measurement are measured once more by each process, and the best remain.
    """
    known = None if again else cache.get(device)
    if known is not None and (known.settled or cache.tried(device)):
        return known
    found = measure_peaks(device)
    if known is not None:
        found = _best(known, found)
    cache.put(device, found)
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


def measure_peaks(device: Any, now: Now = time.perf_counter) -> Peaks:
    """Run programs for arithmetic and one for memory in turns, hidden from the compile log.

    Other processes only lower a rate. So many short runs are made, of which some find the cores
    free, and where the best ones differ there is three times as much time.
    """
    with own_work(), quiet_gc():
        start = now()
        stream, products = _Stream(device), [_Product(device, _SIZES[0])]
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
            size = next((n for n in _SIZES if n > products[-1].size), None)
            # Eight times the work of the previous size, for a first run and two more.
            seconds = 8 * products[-1].seconds
            if size and seconds < _LONG_S and now() + _COMPILE_S + 3 * seconds < until:
                products.append(_Product(device, size))
    return Peaks(
        device=device.device_kind,
        flops=max(best.rates),
        bytes_per_s=max(stream.rates),
        flops_spread=(min(best.rates), max(best.rates)),
        bytes_spread=(min(stream.rates), max(stream.rates)),
        when=datetime.now(UTC).isoformat(timespec="seconds"),
        settled=settled,
    )


def device_key(device: Any) -> str:
    """Kind of device and version of jaxlib. Every CPU has the kind `cpu`, so its model and the
    number of available cores are added."""
    kind = str(device.device_kind)
    if device.platform == "cpu":
        affinity = getattr(os, "sched_getaffinity", None)  # Linux only
        cores = len(affinity(0)) if affinity is not None else os.cpu_count() or 1
        kind = f"{kind} {_cpu_model()} x{cores}"
    return f"{kind} | jaxlib {metadata.version('jaxlib')}"


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
class _Kernel:
    """A program that is run again and again, with its rates."""

    rates: list[float] = field(default_factory=list[float])

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
    def work(self) -> float:
        raise NotImplementedError

    def call(self) -> None:
        raise NotImplementedError

    def run(self, now: Callable[[], float]) -> None:
        began = now()
        self.call()
        self.rates.append(self.work / _positive(now() - began))


class _Stream(_Kernel):
    """Each element is read once and written once, one block of memory after the other.

    In place, by donation: a fresh output is ten times slower on a CPU, because its pages must be
    mapped.
    """

    def __init__(self, device: Any) -> None:
        import jax
        import numpy as np

        super().__init__()
        free = memory.free_bytes(device)
        # A GPU needs a larger block, against the time of a launch.
        size = _STREAM if device.platform == "cpu" else _BLOCKS * _STREAM
        size = size if free is None else max(min(size, free // _ROOM), 4096 * _BLOCKS)
        made = np.ones(size // 4 // _BLOCKS, np.float32)
        self._step = jax.jit(lambda x: x * 0.5 + 1.0, donate_argnums=0)
        self._blocks = [
            self._step(jax.device_put(made, device)).block_until_ready() for _ in range(_BLOCKS)
        ]

    @property
    def work(self) -> float:
        return 2 * self._blocks[0].nbytes

    def call(self) -> None:
        oldest = self._blocks.pop(0)
        self._blocks.append(self._step(oldest).block_until_ready())


class _Product(_Kernel):
    """A float32 matrix product."""

    def __init__(self, device: Any, size: int) -> None:
        import jax
        import numpy as np

        super().__init__()
        self.size = size
        self._product = jax.jit(lambda a: a @ a)
        self._a = jax.device_put(np.full((size, size), 1 / size, np.float32), device)
        self.call()

    @property
    def work(self) -> float:
        return 2 * self.size**3

    def call(self) -> None:
        self._product(self._a).block_until_ready()


def _positive(seconds: float) -> float:
    return max(seconds, 1e-9)


def _cpu_model() -> str:
    text = memory.read_text(Path("/proc/cpuinfo"))
    if not text:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in text.splitlines() if "model name" in line]
    return names[0] if names else platform.machine()
