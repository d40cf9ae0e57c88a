"""Under which conditions it was measured: versions, device, settings, load."""

from __future__ import annotations

from collections.abc import Iterator

from jaxscope.model.comparison import ComparisonRecord
from jaxscope.view import units


def conditions(record: ComparisonRecord) -> str:
    """One line."""
    return " · ".join(_parts(record))


def _parts(record: ComparisonRecord) -> Iterator[str]:
    here = record.environment
    versions = {"jax": here.jax, **dict(record.versions)}
    yield ", ".join(f"{name} {version}" for name, version in versions.items() if version)
    yield f"Python {here.python} on {here.platform}"
    if here.devices:
        yield ", ".join(here.devices)
    yield "64-bit types enabled" if here.x64 else "64-bit types disabled in JAX"
    yield from (f"{name}={value}" for name, value in here.flags)
    machine = record.machine
    if machine.cores is not None:
        yield units.count(machine.cores, "core")
    if machine.load is not None:
        yield f"load {machine.load:.1f}"
    if machine.pressure is not None:
        yield f"waiting for a CPU {machine.pressure:.0f} % of the time"
    if machine.steal:
        yield f"{machine.steal:.0f} % taken by the host"
    if machine.governor:
        yield f"governor {machine.governor}"
    if machine.throttled:
        yield f"throttled: {machine.throttled}"
    if record.wall_s is not None:
        yield f"took {units.seconds(record.wall_s)}"
    yield record.created
