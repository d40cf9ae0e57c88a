"""What ran on a device that writes events of its own: a GPU."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Kernel:
    """One kernel that an HLO instruction launches."""

    op: str
    """The instruction; empty for a kernel that does not say which it is for."""
    name: str
    """The kernel's own name, as the driver has it."""
    seconds: float
    """In a call, of all its launches."""
    times: float
    """Launches in a call."""
    occupancy: float | None = None
    """Theoretical occupancy, 0 to 1: how many of the warps that fit can be resident, by registers
    and shared memory. None where the driver did not say."""


@dataclass(frozen=True, slots=True)
class Stream:
    """One queue of the device."""

    device: int
    name: str
    """`Stream #7(Compute)`."""
    busy_s: float
    """Time in a call in which something ran on it."""
    events: float
    """Kernels and copies in a call."""


@dataclass(frozen=True, slots=True)
class Transfer:
    """Copies of one kind."""

    kind: str
    """`host to device`, `device to host`, `device to device`, `between devices`."""
    seconds: float
    bytes: float
    """Of all copies in a call; 0 where the driver did not say."""
    times: float


@dataclass(frozen=True, slots=True)
class DeviceActivity:
    """Kernels, queues and copies, for one call."""

    kernels: tuple[Kernel, ...]
    """The longest first."""
    streams: tuple[Stream, ...]
    transfers: tuple[Transfer, ...] = ()
    hidden: float = 0.0
    """Kernels in a call that CUDA graphs ran, so that no instruction is known for them."""
    hidden_s: float = 0.0
