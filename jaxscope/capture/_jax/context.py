"""The settings that are part of JAX's cache keys."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import enum
from typing import Any


def trace_context() -> Any | None:
    """JAX's settings that belong to the key of every trace, as one comparable value.

    `config.trace_context`; None when it is gone, and then no change of a setting is seen.
    """
    from jax._src import config

    ask = getattr(config, "trace_context", None)
    return None if ask is None else ask()


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


# On jax 0.8, which does not name the entries of its context, these are asked for one by one.
_OLD_SETTINGS = (
    "enable_x64",
    "default_device",
    "default_matmul_precision",
    "numpy_dtype_promotion",
    "numpy_rank_promotion",
    "threefry_partitionable",
    "random_seed_offset",
    "softmax_custom_jvp",
    "disable_jit",
    "use_direct_linearize",
    "debug_key_reuse",
    "allow_f16_reductions",
    "use_shardy_partitioner",
    "enable_pgle",
)

_OLD_CONTEXTS = (
    "mesh_context_manager",
    "abstract_mesh_context_manager",
    "compute_on_context_manager",
    "xla_metadata_context_manager",
    "user_context",
)

_MESHES = ("mesh_context_manager", "abstract_mesh_context_manager", "device_context")


def named_settings(context: Any) -> tuple[tuple[str, str], ...]:
    """The entries of a `trace_context` by name.

    `config.trace_context_names`, jax 0.10 and later. Before, the settings that people change are
    asked for by name, and the rest are numbers.
    """
    from jax._src import config

    ask = getattr(config, "trace_context_names", None)
    try:
        names = tuple(ask()) if ask is not None else ()
    except NotImplementedError:
        names = ()
    if len(names) == len(context):
        pairs = list(zip(names, context, strict=True))
    else:
        pairs = [(f"jax_{name}", _setting(config, name)) for name in _OLD_SETTINGS]
        pairs += [(name, _setting(config, name)) for name in _OLD_CONTEXTS]
        if not any(text for _, text in pairs if text is not None):
            pairs = []
        pairs += [(f"setting {i} of JAX's context", value) for i, value in enumerate(context)]
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


def _setting(config: Any, name: str) -> Any:
    return getattr(getattr(config, name, None), "value", None)


def _setting_text(value: Any) -> str:
    if isinstance(value, enum.Enum):
        return str(value.value)
    if type(value).__repr__ is object.__repr__:
        try:
            return f"{type(value).__name__} {hash(value) & 0xFFFF:04x}"
        except TypeError:
            return type(value).__name__
    return repr(value)[:160] if not isinstance(value, str) else value
