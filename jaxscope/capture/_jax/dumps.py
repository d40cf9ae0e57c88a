"""A program below HLO: XLA's dumps, and the executable as bytes."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import numpy as np


def compile_apart(lowered: Any, options: Mapping[str, str | bool | int]) -> Any:
    """Compile a `Lowered` once more with these options of XLA, and return the executable.

    In no cache: `Lowered.compile` would keep the executable as long as the program can be called,
    find the program in the persistent cache, and send events of a compilation. `compile_args` of
    `Lowered._lowering`, `create_compile_options` of interpreters/pxla.py and
    `backend_compile_and_load` of compiler.py, seen on jax 0.8.1, 0.10.2 and 0.12.0.1. Raises
    AttributeError, KeyError or TypeError where these are gone, and what XLA raises for the program.
    """
    from jax._src import compiler
    from jax._src.interpreters import pxla

    computation = lowered._lowering
    given, devices, module = computation.compile_args, computation._device_list, computation._hlo
    sides = (given["in_shardings"], given["out_shardings"])
    placed = (tuple([pxla.maybe_concretize_mesh(s, devices) for s in side]) for side in sides)
    effects = len(given["ordered_effects"])
    inputs, outputs = pxla.get_prop_to_input_output(next(placed), next(placed), effects)
    known = {
        "computation": module,
        "tuple_args": given["tuple_args"],
        "allow_prop_to_inputs": inputs,
        "allow_prop_to_outputs": outputs,
        "backend": given["backend"],
        "np_dev": np.array(list(devices), dtype=object),
        "compiler_options": {**dict(computation._compiler_options_kvs), **options},
        # Of jax 0.8.
        "mesh": given.get("mesh"),
        "spmd_lowering": given.get("spmd_lowering"),
        "auto_spmd_lowering": given.get("auto_spmd_lowering"),
        "pmap_nreps": given.get("pmap_nreps"),
    }
    names = inspect.signature(pxla.create_compile_options).parameters
    made = pxla.create_compile_options(**{name: known[name] for name in names})
    return compiler.backend_compile_and_load(
        given["backend"], module, devices, made, given["host_callbacks"]
    )


def serialized(compiled: Any) -> bytes:
    """The executable of a `Compiled` in the form that JAX's caches store, without a compilation.

    `runtime_executable` is public; `serialize` of jaxlib's executable, seen on 0.10.2 and 0.12.0.1,
    and `serialize_executable` of its client on 0.8.1. Raises AttributeError where both are gone,
    and what the device raises for a program that cannot be stored.
    """
    return serialized_executable(compiled.runtime_executable())


def serialized_executable(executable: Any) -> bytes:
    """The same of jaxlib's executable."""
    if hasattr(executable, "serialize"):
        return executable.serialize()
    return executable.client.serialize_executable(executable)
