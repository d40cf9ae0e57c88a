"""The devices of this process, and simulated CPU devices."""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass
from typing import Any

from jaxscope import words
from jaxscope.capture import _jax
from jaxscope.capture.options.settings import SettingsError


class DeviceError(SettingsError):
    """The requested device does not exist here, or cannot be created."""


@dataclass(frozen=True, slots=True)
class Device:
    """One device of this process."""

    name: str
    """`cpu:0`, as `--device` takes it."""
    platform: str
    kind: str
    """The vendor's name, such as `NVIDIA H200`; `cpu` for every CPU."""
    memory: int | None
    """Bytes available to programs; None where the device reports none."""
    process: int


def started() -> bool:
    """Whether JAX has started a backend: only then can devices be listed without effects."""
    return _jax.backends_started()


def devices() -> tuple[Device, ...]:
    """All devices of this process, those of the default platform first. Starts the backends."""
    return tuple(
        [describe(device, i) for live in _live().values() for i, device in enumerate(live)]
    )


def describe(device: Any, index: int | None = None) -> Device:
    """Describe a `jax.Device`; `index` is its position within its platform."""
    limit = (device.memory_stats() or {}).get("bytes_limit")
    return Device(
        name=f"{device.platform}:{device.id if index is None else index}",
        platform=device.platform,
        kind=device.device_kind,
        memory=None if limit is None else int(limit),
        process=device.process_index,
    )


def find(text: str) -> Any:
    """The `jax.Device` of `--device`: `cpu:1`, `gpu` (its first), `tpu:0`.

    Raises DeviceError, with the available devices.
    """
    match = re.fullmatch(r"([a-z_]+)(?::(\d+))?", text.strip().lower())
    if match is None:
        raise DeviceError(
            f"`{text}` is not a device name. Write a platform and optionally a number: `cpu:1` or "
            "`gpu`."
        )
    # The platform of CUDA and ROCm devices is gpu.
    platform = {"cuda": "gpu", "rocm": "gpu"}.get(match[1], match[1])
    index = int(match[2] or 0)
    live = _live()
    if index < len(live.get(platform, ())):
        return live[platform][index]
    here = [f"{name}:{i}" for name, found in live.items() for i in range(len(found))]
    raise DeviceError(
        f"There is no device `{text}` here. JAX has {words.listed(here)}."
        + (f" {_HOW.format(count=index + 1)}" if platform == "cpu" else "")
    )


_HOW = (
    "To simulate CPU devices, restart the kernel and run `%jaxdevices --cpu {count}` before "
    "anything else uses JAX, or start it with "
    "XLA_FLAGS=--xla_force_host_platform_device_count={count}."
)


def simulate_cpu(count: int) -> None:
    """Give JAX `count` CPU devices, which share the cores of this machine.

    Must be called before any backend starts, and starts none. Raises DeviceError when it is late.
    """
    if count < 1:
        raise DeviceError(f"{count} CPU devices cannot be simulated; request 1 or more.")
    import jax

    if not _jax.backends_started():
        jax.config.update("jax_num_cpu_devices", count)
        return
    here = len(jax.local_devices(backend="cpu"))
    if here != count:
        raise DeviceError(
            f"JAX is already running with {words.count(here, 'CPU device')}, which can no longer "
            "change. " + _HOW.format(count=count)
        )


def _live() -> dict[str, list[Any]]:
    """Devices of this process by platform, the default platform first."""
    import jax

    names = [jax.default_backend()]
    with contextlib.suppress(Exception):
        names += _jax.platforms()
    found: dict[str, list[Any]] = {}
    for name in names:
        local = jax.local_devices(backend=name)
        if local:
            found.setdefault(local[0].platform, local)
    return found
