"""Bytes that a compiled program needs on its device, and whether they are available."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jaxscope import words
from jaxscope.model.program import Memory
from jaxscope.model.stage import Unavailable

_MEMINFO = Path("/proc/meminfo")
_CGROUP = Path("/sys/fs/cgroup")
_UNLIMITED = 1 << 60  # cgroup v1 writes "no limit" as a number near 2^63


def memory(compiled: Any) -> Memory | Unavailable:
    """XLA's planned memory of one run of a `jax.stages.Compiled`, per device.

    The peak is computed here: XLA's own `peak_memory_in_bytes` excludes temporaries on the CPU.
    """
    try:
        stats = compiled.memory_analysis()
    except Exception as error:  # a backend without it may raise anything
        return Unavailable(f"this backend does not report the memory of a program: {error}")
    if stats is None:
        return Unavailable("this backend does not report the memory of a program")
    argument, output = int(stats.argument_size_in_bytes), int(stats.output_size_in_bytes)
    temp, alias = int(stats.temp_size_in_bytes), int(stats.alias_size_in_bytes)
    return Memory(
        argument=argument,
        output=output,
        temp=temp,
        alias=alias,
        peak=argument + output + temp - alias,
        generated_code=int(stats.generated_code_size_in_bytes),
    )


def fits(needs: Memory, device: Any) -> str | None:
    """None, or why the program must not run: it needs more than the device has free.

    Its arguments are assumed to be on the device already.
    """
    free = free_bytes(device)
    wanted = needs.peak - needs.argument
    if free is None or wanted <= free:
        return None
    return (
        f"The program was not run: it needs {words.size(wanted)} besides its inputs, but "
        f"{device.platform}:{device.id} has {words.size(free)} free. Make its arrays smaller, free "
        "others, or donate inputs with `-d`."
    )


def free_bytes(device: Any) -> int | None:
    """Free bytes of a `jax.Device`; None where they are not reported."""
    stats = device.memory_stats()
    if stats and "bytes_limit" in stats:
        return int(stats["bytes_limit"]) - int(stats.get("bytes_in_use", 0))
    if device.platform != "cpu":
        return None
    known = [n for n in (_available(_MEMINFO), _cgroup_free(_CGROUP)) if n is not None]
    return min(known) if known else None


def _available(meminfo: Path) -> int | None:
    """`MemAvailable` of Linux: memory available without swapping."""
    for line in read_text(meminfo).splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return None


def _cgroup_free(root: Path) -> int | None:
    """Memory left under the container's limit; file caches count as free."""
    for limit_file, usage_file, stat_file in (
        ("memory.max", "memory.current", "memory.stat"),
        ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes", "memory/memory.stat"),
    ):
        limit, usage = read_text(root / limit_file).strip(), read_text(root / usage_file).strip()
        if not (limit.isdigit() and usage.isdigit()) or int(limit) > _UNLIMITED:
            continue
        stat = dict(line.split()[:2] for line in read_text(root / stat_file).splitlines())
        cached = int(stat.get("total_inactive_file", stat.get("inactive_file", 0)))
        return max(int(limit) - int(usage) + cached, 0)
    return None


def read_text(path: Path) -> str:
    """The text of a file of the system; empty where it cannot be read."""
    try:
        return path.read_text()
    except OSError:
        return ""
