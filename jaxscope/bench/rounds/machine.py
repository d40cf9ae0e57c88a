"""The state of the machine during a run: preemption, pressure, stolen time, clocks."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from dataclasses import KW_ONLY, dataclass
from pathlib import Path

from jaxscope.capture.devices.memory import read_text
from jaxscope.capture.timing.sampling import preemptions
from jaxscope.model.comparison import Machine

_PRESSURE = Path("/proc/pressure/cpu")
_STAT = Path("/proc/stat")
_GOVERNOR = Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")


@dataclass(frozen=True, slots=True)
class MachineCounters:
    """Counters at one moment."""

    at: float
    waited: float | None = None
    """Seconds in which some task waited for a CPU, since the system started."""
    stolen: float | None = None
    """Ticks that the host took."""
    ticks: float | None = None
    """Ticks of all cores."""
    busy: float | None = None
    """Ticks in which a core worked."""
    _: KW_ONLY
    own: float | None = None
    """Ticks in which it worked for this process."""


class Signals:
    """The clock and the counters of this machine; tests substitute their own."""

    now = staticmethod(time.perf_counter)
    preemptions = staticmethod(preemptions)

    def read(self) -> MachineCounters:
        """The counters now, about 0.1 ms."""
        stolen, ticks, busy = core_ticks(read_text(_STAT))
        times = os.times()
        own = None
        if hasattr(os, "sysconf"):
            own = (times.user + times.system) * os.sysconf("SC_CLK_TCK")
        return MachineCounters(
            self.now(), waited(read_text(_PRESSURE)), stolen, ticks, busy, own=own
        )

    def machine(self, began: MachineCounters, ended: MachineCounters, gpu: bool = False) -> Machine:
        """The state of the machine between two readings."""
        load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
        return Machine(
            os.cpu_count(),
            load,
            share(began.waited, ended.waited, began.at, ended.at),
            share(_others(began), _others(ended), began.ticks, ended.ticks),
            share(began.stolen, ended.stolen, began.ticks, ended.ticks),
            governor=read_text(_GOVERNOR).strip(),
            throttled=throttling() if gpu else "",
        )


def share(
    low: float | None, high: float | None, start: float | None, end: float | None
) -> float | None:
    """Percent of a span; None where something is unknown."""
    if low is None or high is None or start is None or end is None or end <= start:
        return None
    return 100 * max(high - low, 0.0) / (end - start)


def throttling() -> str:
    """Reasons of an NVIDIA GPU's reduced clock, as its driver reports them; else empty."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return ""
    reasons = ("hw_slowdown", "hw_thermal_slowdown", "sw_thermal_slowdown", "sw_power_cap")
    for prefix in ("clocks_event_reasons", "clocks_throttle_reasons"):  # the latter before R535
        query = ",".join(f"{prefix}.{reason}" for reason in reasons)
        try:
            done = subprocess.run(
                [program, f"--query-gpu={query}", "--format=csv,noheader"],
                capture_output=True,
                text=True,
                timeout=10,
            )
        except (OSError, subprocess.SubprocessError):
            return ""
        if done.returncode == 0:
            return throttled_by(done.stdout, reasons)
    return ""


def throttled_by(answer: str, reasons: tuple[str, ...]) -> str:
    """The active reasons in nvidia-smi's answer, one line per GPU."""
    found: list[str] = []
    for line in answer.splitlines():
        for reason, state in zip(reasons, line.split(","), strict=False):
            if state.strip().lower() == "active" and reason not in found:
                found.append(reason)
    return ", ".join(reason.replace("_", " ") for reason in found)


def waited(text: str) -> float | None:
    """Seconds of `some avg10=… total=1234`, which is in microseconds."""
    for word in text.partition("\n")[0].split():
        if word.startswith("total="):
            return int(word.removeprefix("total=")) / 1e6
    return None


def core_ticks(text: str) -> tuple[float | None, float | None, float | None]:
    """Stolen, all and busy ticks of `cpu  user nice system idle iowait irq softirq steal …`."""
    head = text.partition("\n")[0].split()
    if len(head) < 9 or head[0] != "cpu":
        return None, None, None
    numbers = [float(word) for word in head[1:9]]
    idle = numbers[3] + numbers[4]
    return numbers[7], sum(numbers), sum(numbers) - idle - numbers[7]


def _others(counters: MachineCounters) -> float | None:
    if counters.busy is None or counters.own is None:
        return None
    return counters.busy - counters.own
