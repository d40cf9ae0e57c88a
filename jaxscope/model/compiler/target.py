"""A program that was compiled for a device that this machine need not have."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from enum import StrEnum

from jaxscope.model.profile import SourceLine


@dataclass(frozen=True, slots=True)
class PaddedArray:
    """An array in the target's memory that its tiles make larger than its data."""

    instruction: str
    """The instruction that makes it; of an input, its parameter."""
    shape: str
    """With its layout: `f32[4096,130]{1,0:T(8,128)}`."""
    bytes: int
    """Of the data."""
    padded: int
    """Bytes that the target's compiler reserves for it."""
    _: KW_ONLY
    place: SourceLine | None
    """Its line in the first source; None when unknown."""
    name: str = ""
    """Of an input: the name that the user gave it."""

    @property
    def waste(self) -> int:
        """Bytes without data."""
        return self.padded - self.bytes


class BufferRole(StrEnum):
    """The reason why a buffer is alive."""

    ARGUMENT = "argument"
    RESULT = "result"
    TEMPORARY = "temporary"


@dataclass(frozen=True, slots=True)
class HeldBuffer:
    """A buffer in the target's memory when most bytes are in use."""

    instruction: str
    """The instruction that makes it; of an input, its parameter."""
    role: BufferRole
    bytes: int
    _: KW_ONLY
    place: SourceLine | None
    """Its line in the first source, else in another; None when unknown."""
    name: str = ""
    """Of an input: the name that the user gave it."""


@dataclass(frozen=True, slots=True)
class CompiledFor:
    """The target of a program, and whether it fits there. Nothing here was measured on it."""

    target: str
    """As asked for: `tpu:v5e:2x2`."""
    device_kind: str
    """The compiler's name of the device: `TPU v5 lite`."""
    devices: int
    """Devices of the topology; the program may use fewer."""
    compiler: str
    """Packages that compiled it: `libtpu 0.0.42.1`."""
    _: KW_ONLY
    fits: bool | None
    """None where neither the compiler nor its memory plan tells."""
    verdict: str
    """The reason for `fits`, as a sentence."""
    needs: int | None = None
    """Bytes of one device's memory that the program needs."""
    memory: int | None = None
    """Bytes that one device has."""
    held: tuple[HeldBuffer, ...] = ()
    """The largest buffers at the peak, the largest first."""
    padding: tuple[PaddedArray, ...] = ()
    """Arrays with the most padding first."""
    seconds: float | None = None
    """Of the compiler, on this machine."""
    peak_flops: float | None = None
    """FLOP/s of one device's matrix units in bfloat16, by the vendor's data sheet."""
    peak_bytes: float | None = None
    """Bytes/s of one device's memory, by the vendor's data sheet."""

    @property
    def ridge(self) -> float | None:
        """FLOP per byte from which on the data sheet's FLOP/s are the limit."""
        if self.peak_flops is None or not self.peak_bytes:
            return None
        return self.peak_flops / self.peak_bytes
