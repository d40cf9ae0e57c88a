"""Targets by name, `tpu:v5e:2x2`, with the figures of their data sheets."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from jaxscope.words import listed

_GIB = 1 << 30


@dataclass(frozen=True, slots=True)
class TargetKind:
    """One kind of device."""

    name: str
    platform: str
    """JAX's platform: `tpu`, `cuda` or `cpu`."""
    topology: str
    """The smallest one."""
    memory: int | None = None
    """Bytes that one device has for programs."""
    flops: float | None = None
    """FLOP/s in bfloat16 of one device, dense, by the data sheet."""
    bytes_per_s: float | None = None
    """Of one device's memory, by the data sheet."""
    attributes: Mapping[str, str] | None = None
    """Of a GPU: the fields of XLA's `GpuDeviceInfoProto`."""


# Memory of TPUs: the limit that libtpu 0.0.42 names where a program does not fit. Rates: the system
# architecture pages of Cloud TPU. A device of a v4 is one of the two cores of a chip.
_TPUS = (
    TargetKind("v4", "tpu", "2x2x1", int(15.25 * _GIB), 137.5e12, 614e9),
    TargetKind("v5e", "tpu", "1x1", int(15.75 * _GIB), 197e12, 819e9),
    TargetKind("v5p", "tpu", "2x2x1", int(95.74 * _GIB), 459e12, 2765e9),
    TargetKind("v6e", "tpu", "1x1", int(31.25 * _GIB), 918e12, 1638e9),
)
# Rates: NVIDIA's data sheets of the SXM boards. Counts and sizes: XLA's descriptions of these GPUs,
# `a100_sxm_80.txtpb` and `h100_sxm.txtpb`.
_GPUS = (
    TargetKind(
        "a100", "cuda", "1", 85_100_068_864, 312e12, 2039e9,
        {
            "device_description_str": "NVIDIA A100-SXM4-80GB", "major": "8", "minor": "0",
            "core_count": "108", "fpus_per_core": "64", "shared_memory_per_core": "167936",
            "shared_memory_per_block_optin": "166912", "l2_cache_size": "41943040",
            "clock_rate_ghz": "1.41",
        },
    ),
    TargetKind(
        "h100", "cuda", "1", 84_942_979_072, 989e12, 3352e9,
        {
            "device_description_str": "NVIDIA H100 80GB HBM3", "major": "9", "minor": "0",
            "core_count": "132", "fpus_per_core": "128", "shared_memory_per_core": "233472",
            "shared_memory_per_block_optin": "232448", "l2_cache_size": "52428800",
            "clock_rate_ghz": "1.98",
        },
    ),
)  # fmt: skip
_CPU = TargetKind("cpu", "cpu", "1")
KINDS: Mapping[str, TargetKind] = {
    "cpu": _CPU,
    **{f"tpu:{kind.name}": kind for kind in _TPUS},
    **{f"gpu:{kind.name}": kind for kind in _GPUS},
}
"""By the start of a target's name."""

_GRID = re.compile(r"[1-9]\d*(x[1-9]\d*)*")
MOST_DEVICES = 4096


class TargetNameError(ValueError):
    """A name that is none of a target; the text is a sentence for the user."""


@dataclass(frozen=True, slots=True)
class Target:
    """A kind of device and a number of them, in their topology."""

    name: str
    """As the user wrote it: `tpu:v5e:2x2`."""
    kind: TargetKind
    topology: str
    """`2x2`; of GPUs and CPUs, their number."""

    @property
    def kind_name(self) -> str:
        """Its name without a topology: `tpu:v5e`."""
        return next(name for name, kind in KINDS.items() if kind is self.kind)

    @property
    def platform(self) -> str:
        """JAX's platform to lower for."""
        return self.kind.platform

    @property
    def environment(self) -> str:
        """The environment that has its compiler: `tpu` or `gpu`; empty for this one."""
        return {"tpu": "tpu", "cuda": "gpu"}.get(self.platform, "")

    @property
    def chips(self) -> int:
        """Devices by the name of the topology."""
        return math.prod(map(int, self.topology.split("x")))


def read_target(text: str) -> Target:
    """The target of a name: `tpu:v5e`, `tpu:v5e:2x2`, `gpu:h100:4`, `cpu:4`.

    Raises TargetNameError for others.
    """
    name = text.strip().lower()
    start, _, rest = name.partition(":")
    if start != "cpu":
        second, _, rest = rest.partition(":")
        start = f"{start}:{second}"
    kind = KINDS.get(start)
    if kind is None:
        known = listed([f"`{one}`" for one in KINDS], last="or")
        raise TargetNameError(f"There is no target `{text}`: choose {known}, such as tpu:v5e:2x2.")
    topology = rest or kind.topology
    if not _GRID.fullmatch(topology):
        raise TargetNameError(f"`{rest}` is not a topology of {start}; write {_example(kind)}.")
    if kind.platform != "tpu" and "x" in topology:
        raise TargetNameError(f"`{rest}` is not a number of devices; write {_example(kind)}.")
    if math.prod(map(int, topology.split("x"))) > MOST_DEVICES:
        raise TargetNameError(f"{topology} is more than {MOST_DEVICES} devices.")
    return Target(name, kind, topology)


def _example(kind: TargetKind) -> str:
    if kind.platform == "tpu":
        grid = "2x2" if kind.topology.count("x") == 1 else "2x2x1"
        return f"tpu:{kind.name}:{grid}"
    return "cpu:4" if kind.platform == "cpu" else f"gpu:{kind.name}:4"


def gpu_config(kind: TargetKind) -> str:
    """XLA's `GpuTargetConfigProto` of a GPU, as text."""
    assert kind.attributes is not None
    given = dict(kind.attributes)
    name, major, minor = (given.pop(k) for k in ("device_description_str", "major", "minor"))
    # The same for every GPU since compute capability 7.0.
    given |= {
        "threads_per_block_limit": "1024", "threads_per_warp": "32",
        "shared_memory_per_block": "49152", "threads_per_core_limit": "2048",
        "block_dim_limit_x": "2147483647", "block_dim_limit_y": "65535",
        "block_dim_limit_z": "65535", "registers_per_core_limit": "65536",
        "registers_per_block_limit": "65536", "thread_dim_limit_x": "1024",
        "thread_dim_limit_y": "1024", "thread_dim_limit_z": "64",
        "device_memory_size": str(kind.memory), "memory_bandwidth": str(int(kind.bytes_per_s or 0)),
    }  # fmt: skip
    fields = " ".join(f"{field}: {value}" for field, value in given.items())
    capability = f"cuda_compute_capability {{ major: {major} minor: {minor} }}"
    return (
        f"gpu_device_info {{ {fields} {capability} }}"
        f' platform_name: "CUDA" dnn_version_info {{ major: 9 minor: 10 patch: 0 }}'
        f' device_description_str: "{name}"'
    )
