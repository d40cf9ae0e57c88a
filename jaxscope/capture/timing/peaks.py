"""Measured peaks of a device: float32 matrix products and an in-place stream."""

from __future__ import annotations

import json
import math
import os
import platform
import sys
import time
from collections.abc import Callable
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
_SIZES = (512, 1024, 2048)
_REPEATS = 5
_STREAM = 64 << 20  # bytes: more than the last-level cache of a CPU or GPU
_LARGEST = 1 << 20  # bytes of the cache; an entry has 300
_ROOM = 4  # the stream takes at most this fraction of the free memory


class PeakCache:
    """Peaks in this process and on disk, by kind of device and version of jaxlib."""

    def __init__(self, path: Path | None = None) -> None:
        """`path` defaults to `peaks.json` in the user's cache directory."""
        self._path = path or cache_directory() / "peaks.json"
        self._known: dict[str, Peaks] = {}

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
    """The peaks of a `jax.Device`: cached, else (or with `again`) measured in about 0.5 s."""
    found = None if again else cache.get(device)
    if found is None:
        found = measure_peaks(device)
        cache.put(device, found)
    return found


def measure_peaks(device: Any, now: Now = time.perf_counter) -> Peaks:
    """Run one program for arithmetic and one for memory, hidden from the compile log."""
    with own_work(), quiet_gc():
        start = now()
        # In place, by donation: a fresh output of this size is ten times slower on a CPU, because
        # its pages must be mapped.
        bytes_low, bytes_high = _stream(device, now, start + 0.4 * _BUDGET_S)
        flops_low, flops_high = _products(device, now, start + _BUDGET_S)
    return Peaks(
        device=device.device_kind,
        flops=flops_high,
        bytes_per_s=bytes_high,
        flops_spread=(flops_low, flops_high),
        bytes_spread=(bytes_low, bytes_high),
        when=datetime.now(UTC).isoformat(timespec="seconds"),
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


def _stream(device: Any, now: Callable[[], float], until: float) -> tuple[float, float]:
    """Bytes/s, slowest and fastest: each element is read once and written once."""
    import jax
    import numpy as np

    free = memory.free_bytes(device)
    size = _STREAM if free is None else max(min(_STREAM, free // _ROOM), 4096)
    x = jax.device_put(np.ones(size // 4, np.float32), device)
    step = jax.jit(lambda x: x * 0.5 + 1.0, donate_argnums=0)
    x = step(x).block_until_ready()
    rates: list[float] = []
    while len(rates) < _REPEATS or (now() < until and len(rates) < 4 * _REPEATS):
        began = now()
        x = step(x).block_until_ready()
        rates.append(2 * x.nbytes / _positive(now() - began))
        if now() > until and len(rates) >= 2:
            break
    return min(rates), max(rates)


def _products(device: Any, now: Callable[[], float], until: float) -> tuple[float, float]:
    """FLOP/s of the fastest size, its slowest and fastest repetition."""
    import jax
    import numpy as np

    product = jax.jit(lambda a: a @ a)
    best: list[float] = []
    seconds = 0.0
    for size in _SIZES:
        # Eight times the work of the previous size, for a first run and two more.
        if best and now() + _COMPILE_S + 3 * 8 * seconds > until:
            break
        a = jax.device_put(np.full((size, size), 1 / size, np.float32), device)
        product(a).block_until_ready()
        rates: list[float] = []
        while len(rates) < 2 or (len(rates) < _REPEATS and now() + seconds < until):
            began = now()
            product(a).block_until_ready()
            seconds = _positive(now() - began)
            rates.append(2 * size**3 / seconds)
        if not best or max(rates) > max(best):
            best = rates
    return min(best), max(best)


def _positive(seconds: float) -> float:
    return max(seconds, 1e-9)


def _cpu_model() -> str:
    text = memory.read_text(Path("/proc/cpuinfo"))
    if not text:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in text.splitlines() if "model name" in line]
    return names[0] if names else platform.machine()
