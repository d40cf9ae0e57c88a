"""XLA's options that are known to change a program's time, by backend and version of jaxlib."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Flag:
    """One compiler option with a value, and the source that says why it may matter."""

    name: str
    value: str | bool | int
    backend: str
    since: tuple[int, int, int]
    """The first jaxlib in which it was seen to be accepted."""
    source: str

    @property
    def shown(self) -> str:
        """`xla_cpu_enable_fast_min_max=True`."""
        return f"{self.name}={self.value!r}"


FLAGS: tuple[Flag, ...] = (
    Flag(
        "xla_cpu_experimental_ynn_fusion_type",
        "",
        "cpu",
        (0, 10, 0),
        "jax#37465: reductions that YNNPACK takes over no longer fuse with slices",
    ),
    Flag(
        "xla_cpu_experimental_xnn_fusion_type",
        "",
        "cpu",
        (0, 8, 0),
        "jax#37465: the same for XNNPACK, the library before YNNPACK",
    ),
    Flag(
        "xla_cpu_enable_fast_min_max",
        True,
        "cpu",
        (0, 8, 0),
        "xla.proto: a minimum or maximum that may ignore NaN is one instruction",
    ),
    Flag(
        "xla_cpu_enable_fast_math",
        True,
        "cpu",
        (0, 8, 0),
        "xla.proto: reassociation and reciprocals; the results are compared",
    ),
    Flag(
        "xla_cpu_prefer_vector_width",
        512,
        "cpu",
        (0, 8, 0),
        "xla.proto: the default of 256 avoids the lower clock of some processors",
    ),
    Flag(
        "xla_disable_hlo_passes",
        "cpu-parallel-task-assigner",
        "cpu",
        (0, 8, 0),
        "XLA splits an operation between threads, which costs more than it gains for small ones",
    ),
    Flag(
        "xla_gpu_enable_latency_hiding_scheduler",
        True,
        "gpu",
        (0, 8, 0),
        "docs.jax.dev, GPU performance tips: overlaps communication with computation",
    ),
    Flag(
        "xla_gpu_enable_triton_gemm",
        False,
        "gpu",
        (0, 8, 0),
        "docs.jax.dev, GPU performance tips: cuBLAS instead of Triton for matrix products",
    ),
)


def flags_for(backend: str, jaxlib: str) -> tuple[Flag, ...]:
    """The options of a backend that this jaxlib has."""
    kind = "gpu" if backend in ("cuda", "rocm", "gpu") else backend
    numbers = tuple(map(int, re.findall(r"\d+", jaxlib)[:3]))
    return tuple([one for one in FLAGS if one.backend == kind and one.since <= numbers])
