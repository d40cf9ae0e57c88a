"""The settings that are part of JAX's cache keys."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import enum
import functools
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from typing import Any


def trace_context() -> Any | None:
    """JAX's settings that belong to the key of every trace, as one comparable value.

    `config.trace_context`; None when it is gone, and then no change of a setting is seen.
    """
    from jax._src import config

    ask = getattr(config, "trace_context", None)
    return None if ask is None else ask()


_MESHES = ("mesh_context_manager", "abstract_mesh_context_manager", "device_context")

JaxSettings = tuple[tuple[str, Any, Any], ...]
"""JAX's settings by name, and their values at some time."""


def settings_now() -> JaxSettings:
    """The settings of this thread: the objects with `swap_local` of `jax._src.config`.

    On 0.12 the meshes are in `jax._src.mesh`. Seen on jax 0.8.1 to 0.12.0.1; none where these names
    are gone, and then a call is traced again with the settings of its report.
    """
    from jax import _src

    homes = [getattr(getattr(_src, name, None), "__dict__", {}) for name in ("mesh", "config")]
    held = [pair for home in homes for pair in home.items()]
    found = {name: one for name, one in held if not isinstance(one, type)}
    settable = {name: one for name, one in found.items() if hasattr(one, "swap_local")}
    return tuple([(name, one, one.value) for name, one in settable.items()])


@contextmanager
def with_settings(settings: JaxSettings) -> Generator[None]:
    """Trace with these settings, as far as they are meshes or belong to the key of a trace."""
    with ExitStack() as undone:
        for name, one, value in settings:
            if one.value is value:
                continue
            before, old = trace_context(), one.swap_local(value)
            if name not in _MESHES and trace_context() == before:
                one.set_local(old)
            else:
                undone.callback(one.set_local, old)
        yield


def is_uncached() -> bool:
    """Whether JAX caches no traces, as it looks for leaked tracers.

    No where the setting is gone.
    """
    import jax

    return bool(getattr(jax.config, "jax_check_tracer_leaks", False))


def is_tracing() -> bool:
    """Whether the code that runs is being traced.

    `core.trace_state_clean`, seen on 0.8 to 0.12; False where it is gone.
    """
    from jax._src import core

    ask = getattr(core, "trace_state_clean", None)
    return ask is not None and not ask()


def setting_values() -> dict[str, Any]:
    """All of JAX's settings by the names that `jax.config.update` takes, as far as they are data.

    `config.values`, which is not documented; nothing where it is gone.
    """
    import jax

    values = getattr(jax.config, "values", None) or {}
    plain = (bool, int, float, str, type(None))
    return {name: value for name, value in values.items() if isinstance(value, plain)}


def named_settings(context: Any) -> tuple[tuple[str, str], ...]:
    """The entries of a `trace_context` by name, as JAX has them in this process."""
    names = _context_names()
    if len(names) != len(context):
        names = tuple(f"setting {i} of JAX's context" for i in range(len(context)))
    pairs = zip(names, context, strict=True)
    found: dict[str, str] = {}
    for name, value in pairs:
        text = _setting_text(value)
        if name not in _MESHES:
            found[name] = text
        elif text not in ("None", "()"):
            shape = getattr(value, "shape", None)
            axes = dict(shape) if shape is not None else {}
            named = ", ".join(f"{axis}={size}" for axis, size in axes.items())
            if named or shape is None:  # under a gradient the mesh is one without axes
                found["mesh"] = named or found.get("mesh") or text
    return tuple(found.items())


def _context_names() -> tuple[str, ...]:
    """The names of the entries of a `trace_context`; nothing where JAX does not tell.

    `config.trace_context_names`, jax 0.10.2 and later.
    """
    from jax._src import config

    ask = getattr(config, "trace_context_names", None)
    try:
        return tuple(ask()) if ask is not None else _changed_names()
    except (AttributeError, NotImplementedError, TypeError):
        return ()


@functools.cache
def _changed_names() -> tuple[str, ...]:
    """Each entry's name, found by which setting changes it when set for this thread alone.

    `config.trace_context` and `swap_local` of the settings in `config`; before jax 0.10.2.
    """
    from jax._src import config

    before = config.trace_context()
    names = [f"setting {i} of JAX's context" for i in range(len(before))]
    for name, setting in vars(config).items():
        if isinstance(setting, type) or not hasattr(setting, "swap_local"):
            continue
        marked = object()
        kept = setting.swap_local(marked)
        try:
            after = config.trace_context()
        finally:
            setting.set_local(kept)
        for i, value in enumerate(after):
            if value is marked:
                names[i] = getattr(setting, "name", name)
    return tuple(names)


def _setting_text(value: Any) -> str:
    if isinstance(value, enum.Enum):
        return str(value.value)
    if type(value).__repr__ is object.__repr__:
        try:
            return f"{type(value).__name__} {hash(value) & 0xFFFF:04x}"
        except TypeError:
            return type(value).__name__
    return repr(value)[:160] if not isinstance(value, str) else value
