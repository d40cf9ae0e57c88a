"""Activity of a device that writes its own profiler events: a GPU."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Kernel:
    """One kernel that an HLO instruction launches."""

    op: str
    """The instruction; empty where the event names none."""
    name: str
    """The kernel's name in the driver."""
    seconds: float
    """Of all its launches, per call."""
    times: float
    """Launches per call."""
    occupancy: float | None = None
    """Theoretical occupancy, 0 to 1: how many of the warps that fit can be resident, by registers
    and shared memory. None where the driver reports none."""


@dataclass(frozen=True, slots=True)
class Stream:
    """One stream of the device."""

    device: int
    name: str
    """`Stream #7(Compute)`."""
    busy_s: float
    """Time in which something ran on it, per call."""
    events: float
    """Kernels and copies per call."""


@dataclass(frozen=True, slots=True)
class Transfer:
    """Copies of one kind."""

    kind: str
    """`host to device`, `device to host`, `device to device`, `between devices`."""
    seconds: float
    bytes: float
    """Of all copies, per call; 0 where the driver reports none."""
    times: float


@dataclass(frozen=True, slots=True)
class DeviceActivity:
    """Kernels, streams and copies, per call."""

    kernels: tuple[Kernel, ...]
    """The longest first."""
    streams: tuple[Stream, ...]
    transfers: tuple[Transfer, ...] = ()
    hidden: float = 0.0
    """Kernels per call that CUDA graphs ran, whose instruction is unknown."""
    hidden_s: float = 0.0
