"""Stages that are under way on a thread, and the compile that each belongs to."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum

from jaxscope.capture import _jax
from jaxscope.capture._jax import CacheRequest, JaxCall
from jaxscope.capture.compiles.raw_compile import RawCompile
from jaxscope.model.compiles import CompileKind


class Stage(IntEnum):
    """What JAX does on a miss, in this order."""

    TRACE = 0
    LOWER = 1
    XLA = 2


@dataclass(slots=True)
class Pending:
    """A compile with what is needed to join its stages."""

    raw: RawCompile
    event_name: str
    stage: Stage
    """The last stage that began."""
    keys: tuple[tuple[int, int], ...]
    """As in `JaxCall`."""
    described: bool
    """False for a function traced inside another: on jax 0.8 there are hundreds, and most never
    become a compile, so they are looked at only when they are lowered."""
    trace_share: float = 0.0
    """Seconds of its trace that the enclosing stage must give up once this is a real compile."""


@dataclass(slots=True)
class Open:
    """A stage that has begun and not ended."""

    stage: Stage
    name: str
    record: Pending
    misses: int | None
    """`_jax.trace_misses` when a trace began."""
    request: CacheRequest | None = None
    """What the persistent cache was asked for."""
    inside: float = 0.0
    """Seconds of other compiles inside it."""
    nested: list[Pending] = field(default_factory=list[Pending])


def plain_name(name: str) -> str:
    """`f` of `jit(f)`: lowering and XLA name the module, tracing names the function."""
    for prefix in ("jit(", "pmap("):
        if name.startswith(prefix) and name.endswith(")"):
            return name[len(prefix) : -1]
    return name


def joins(record: Pending, stage: Stage, name: str, call: JaxCall, *, latest: bool) -> bool:
    """Whether this stage continues that compile.

    It does as a later stage of the same call, or, when the user goes stage by stage, of the same
    name. Without JAX's frames the name and the order of stages decide.
    """
    if record.stage >= stage or record.event_name != name or record.raw.error:
        return False
    if record.raw.kind is call.kind is CompileKind.AOT:
        return True
    if not latest:
        return False
    if not record.described or not call.keys:
        return True
    return bool(record.keys) and record.keys[0] in call.keys


def goes_on(record: Pending, stage: Stage, name: str) -> bool:
    """Whether this is the XLA compilation right after that compile's lowering, in the same call.

    Then all is known of it, and JAX's frames need not be read again. Stage by stage the user may
    give other options to each, so that these are read.
    """
    return (
        stage is Stage.XLA
        and record.stage is Stage.LOWER
        and record.event_name == name
        and record.described
        and record.raw.kind is not CompileKind.AOT
        and not record.raw.error
        and bool(record.keys)
        and _jax.still_called(record.keys[0])
    )
