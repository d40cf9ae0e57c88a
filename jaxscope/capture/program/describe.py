"""From live handles to the model: JAX's facts about a program, as data."""

from __future__ import annotations

import contextlib
import datetime
import math
import os
import platform
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import jax
import jaxlib.version

from jaxscope.analysis.cost import counted
from jaxscope.analysis.hlo import too_long
from jaxscope.capture import _jax
from jaxscope.capture.inputs.captured import variables_of
from jaxscope.capture.inputs.traced_or_static import aval_text, nbytes
from jaxscope.capture.program.stages import Handles
from jaxscope.capture.tree_paths import leaves_with_paths
from jaxscope.model import Cost, Effect, Environment, StageKind, Unavailable, Value, ValueKind
from jaxscope.model.program import ABSTRACT
from jaxscope.version import __version__

# Primitives that call back into Python: every run of the program calls them.
_CALLBACKS = {
    "debug_callback": Effect.DEBUG,
    "debug_print": Effect.DEBUG,
    "io_callback": Effect.IO,
    "outside_call": Effect.IO,
    "pure_callback": Effect.PURE_CALLBACK,
}


def inputs(
    handles: Handles, paths: Sequence[str], reasons: Mapping[str, str], leaves: Sequence[Any]
) -> tuple[Value, ...]:
    """The traced inputs in flat order; those that no result depends on are UNUSED."""
    information = argument_infos(handles)
    kept = None if handles.lowered is None else _jax.kept_arguments(handles.lowered)
    placed = shardings(handles.compiled, "input_shardings", len(information))
    values: list[Value] = []
    for position, info in enumerate(information):
        path = paths[position] if position < len(paths) else f"[{position}]"
        leaf = leaves[position] if position < len(leaves) else None
        kind = ValueKind.DONATED if info.donated else ValueKind.TRACED
        if kept is not None and position not in kept:
            kind = ValueKind.UNUSED
        values.append(
            Value(
                path,
                kind,
                _aval(info),
                _bytes(info),
                "" if kind is ValueKind.UNUSED else _sharding(placed[position]),
                reason=reasons.get(path) or kind_of(leaf),
            )
        )
    return tuple(values)


def argument_infos(handles: Handles) -> list[Any]:
    """JAX's `ArgInfo` of each flat argument."""
    stage = handles.lowered if handles.lowered is not None else handles.compiled
    return jax.tree_util.tree_leaves(stage.args_info)


def outputs(handles: Handles, labels: Sequence[str]) -> tuple[Value, ...]:
    """The results in flat order, by the names that the user gave them, else by pytree path."""
    stage = handles.traced or handles.lowered or handles.compiled
    information = leaves_with_paths(getattr(stage, "out_info", ()))
    placed = shardings(handles.compiled, "output_shardings", len(information))
    return tuple(
        Value(
            labels[i] if i < len(labels) else f"Out{path}",
            ValueKind.TRACED,
            _aval(info),
            _bytes(info),
            _sharding(placed[i]),
        )
        for i, (path, info) in enumerate(information)
    )


def constants(
    handles: Handles,
    function: Any = None,
    namespace: Mapping[str, Any] | None = None,
    statics: Sequence[Value] = (),
) -> tuple[Value, ...]:
    """Arrays that the program captured instead of taking them as arguments.

    Those that the function or the namespace has a name for have that, others a number. A Ref that
    is already listed as static is left out.
    """
    arrays = _jax.constants_in(getattr(handles.traced, "jaxpr", None))
    names: Mapping[Hashable, str] = {}
    if arrays:
        with contextlib.suppress(Exception):  # an object of the user's that cannot be read
            names = variables_of(arrays, function, namespace or {})
    listed = {value.name for value in statics}
    named = [names.get(_jax.array_key(value), f"constant {i}") for i, value in enumerate(arrays)]
    return tuple(
        Value(
            name,
            ValueKind.CONSTANT,
            aval_text(value),
            nbytes(value),
            reason="captured while tracing",
        )
        for name, value in zip(named, arrays, strict=True)
        if not (isinstance(value, jax.Ref) and name in listed)
    )


def effects(handles: Handles) -> tuple[Effect, ...]:
    """Reasons not to repeat the program: callbacks and ordered effects."""
    shared = len({device.process_index for device in device_objects(handles)}) > 1
    others = {Effect.OTHER_PROCESSES} if shared else set[Effect]()
    if handles.traced is None:
        return tuple(others)
    found = others | {
        _CALLBACKS[equation.primitive]
        for equation in handles.tagged.equations
        if equation.primitive in _CALLBACKS
    }
    for effect in handles.traced.jaxpr.effects:
        text = f"{type(effect).__name__}{effect}".lower()
        if "ordered" in text and "unordered" not in str(effect).lower():
            found.add(Effect.ORDERED)
        if type(effect).__name__ in ("WriteEffect", "AccumEffect"):  # of a Ref that outlives it
            found.add(Effect.ORDERED)
    return tuple(sorted(found))


def devices(handles: Handles) -> tuple[str, ...]:
    """`cpu:0` … of the devices that the program runs on."""
    return named(device_objects(handles))


def named(devices: Sequence[Any]) -> tuple[str, ...]:
    """`cpu:0` … of these devices."""
    return tuple([f"{d.platform}:{d.id}" for d in devices])


def device_objects(handles: Handles) -> tuple[Any, ...]:
    """The devices that the program runs on, by platform and number."""
    if handles.foreign is not None:
        return handles.foreign.devices
    found: set[Any] = set()
    for name in ("output_shardings", "input_shardings"):
        for sharding in _flat_shardings(handles.compiled, name):
            found |= set(getattr(sharding, "device_set", ()))
    if not found:
        found = {jax.local_devices()[0]}
    return tuple(sorted(found, key=lambda d: (d.platform, d.id)))


def cost(handles: Handles) -> Cost | Unavailable:
    """Work of one run, counted on the optimized HLO with loops multiplied out."""
    stage = handles.text(StageKind.OPTIMIZED_HLO)
    if stage.unavailable is not None:
        return stage.unavailable
    known = counted(stage.text)
    if known is None:
        why = too_long(stage.text) or "this XLA writes it in a different form"
        return Unavailable(f"the optimized HLO could not be read: {why}")
    work = known[1]
    return Cost(
        work.flops,
        work.transcendentals,
        work.bytes_accessed,
        (*work.unknown, *work.estimated),
        partial=work.partial,
    )


def settings() -> dict[str, Any]:
    """JAX's settings by the names that `jax.config.update` takes; none where JAX does not tell."""
    with contextlib.suppress(Exception):
        return _jax.setting_values()
    return {}


def environment() -> Environment:
    """Versions and settings that the figures depend on."""
    return Environment(
        __version__,
        jax.__version__,
        jaxlib.version.__version__,
        platform.python_version(),
        f"{platform.system()}-{platform.release()} {platform.machine()}",
        devices=tuple([f"{d.platform}:{d.id} {d.device_kind}" for d in jax.devices()]),
        x64=jax.dtypes.canonicalize_dtype("float64") == "float64",
        flags=tuple(
            sorted(
                (name, value)
                for name, value in os.environ.items()
                if name == "XLA_FLAGS" or name.startswith(("JAX_", "OMP_"))
            )
        ),
    )


def now() -> str:
    """The time, ISO 8601 in UTC."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def _aval(info: Any) -> str:
    text = f"{info.dtype}[{','.join(map(str, info.shape))}]"
    return f"{text} weak" if getattr(info, "weak_type", False) else text


def _bytes(info: Any) -> int:
    return math.prod(info.shape) * getattr(info.dtype, "itemsize", 0)


def shardings(compiled: Any, name: str, number: int) -> list[Any]:
    """The flat `input_shardings` or `output_shardings`, None where there is none."""
    found = _flat_shardings(compiled, name)
    if len(found) != number:  # None is a part of the user's pytree
        found = [one for one in found if one is not None]
    return found if len(found) == number else [None] * number


def _flat_shardings(compiled: Any, name: str) -> list[Any]:
    try:
        placed = getattr(compiled, name, ())
    except ValueError:  # JAX counts the Refs that a program writes as outputs
        return []
    return jax.tree_util.tree_leaves(placed, is_leaf=lambda leaf: leaf is None)


def _sharding(sharding: Any) -> str:
    if sharding is None:
        return ""
    spec = getattr(sharding, "spec", None)
    if spec is not None:
        axes = ", ".join(f"{n}={s}" for n, s in sharding.mesh.shape.items())
        return f"{_jax.spec_text(spec)} on ({axes})"
    placed = named(sorted(sharding.device_set, key=lambda d: d.id))
    if len(placed) > 2:
        return f"{len(placed)} devices ({placed[0]} … {placed[-1]})"
    return ", ".join(placed)


def kind_of(leaf: Any) -> str:
    """The reason why a leaf is traced; empty for an unknown leaf."""
    from jaxscope.capture.inputs.traced_or_static import choose

    if leaf is None:
        return ""
    if isinstance(leaf, jax.ShapeDtypeStruct):
        return ABSTRACT
    return choose(leaf).reason if choose(leaf).traced else f"{type(leaf).__name__}, traced by jit"
