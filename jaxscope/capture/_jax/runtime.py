"""The listeners, the backends and the profiler of this process."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import sys
from typing import Any, TypeVar

T = TypeVar("T")


def monitored_by(owner: Any) -> bool | None:
    """Whether all three kinds of our listeners are registered; None when unknown.

    `get_event_listeners` and its like of `jax._src.monitoring`, seen on jax 0.8.1 to 0.12.0.
    """
    found = _monitors()
    return None if found is None else sum(1 for one in found if one is owner) >= 3


def monitors(kind: type[T]) -> T | None:
    """The registered listener of this type, if there is one."""
    return next((one for one in _monitors() or () if isinstance(one, kind)), None)


def _monitors() -> list[Any] | None:
    from jax._src import monitoring

    names = ("get_event_listeners", "get_event_duration_listeners", "get_scalar_listeners")
    getters = [getattr(monitoring, name, None) for name in names]
    if None in getters:
        return None
    return [getattr(one, "__self__", None) for get in getters if get is not None for one in get()]


def backends_started() -> bool:
    """Whether a backend is up, without starting one.

    `xla_bridge.backends_are_initialized`. When the name is gone: True once jax is imported, so that
    no setting is offered that would come too late.
    """
    if "jax" not in sys.modules:
        return False
    from jax._src import xla_bridge

    ask = getattr(xla_bridge, "backends_are_initialized", None)
    return True if ask is None else bool(ask())


def platforms() -> list[str]:
    """The platforms that JAX has, which starts them.

    `xla_bridge.backends`, seen on jax 0.8.1, 0.10.2 and 0.12.0.1; see `as_function` for why not
    from `jax.extend`. Only the default one when it is gone.
    """
    import jax
    from jax._src import xla_bridge

    ask = getattr(xla_bridge, "backends", None)
    return [jax.default_backend()] if ask is None else list(ask())


def profiler_session(options: Any) -> Any | None:
    """A started profiler session whose `stop()` gives the trace as bytes.

    jax 0.8.1, 0.10.2, 0.12.0.1. None when it is gone: then the public way writes a directory.
    """
    try:
        from jax._src.lib import _profiler  # pyright: ignore[reportAttributeAccessIssue]
    except ImportError:
        return None
    make = getattr(_profiler, "ProfilerSession", None)
    return None if make is None else make(options)
