"""A program below HLO: XLA's dumps, and the executable as bytes."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import importlib
import inspect
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True)
class PortableCompile:
    """A compilation as data, for another process."""

    program: bytes = field(repr=False)
    """StableHLO with locations, as MLIR stores it."""
    options: bytes = field(repr=False)
    """XLA's options of the compilation."""
    devices: int
    """CPU devices that the other process needs; its thread pools depend on them too."""


def portable_compile(lowered: Any) -> PortableCompile | None:
    """The compilation of a `Lowered`; None for a device other than the CPU.

    `SerializeAsString` of jaxlib's `CompileOptions` and `mlir.module_to_bytecode`, seen on jax
    0.8.1, 0.10.2 and 0.12.0.1. Raises what `compile_apart` does.
    """
    from jax._src.interpreters import mlir

    devices = cpu_devices(lowered)
    if devices is None:
        return None
    options: Any = _options(lowered, {})
    program = bytes(mlir.module_to_bytecode(lowered._lowering._hlo))
    return PortableCompile(program, options.SerializeAsString(), devices)


def cpu_devices(lowered: Any) -> int | None:
    """The CPU devices that another process needs to compile a `Lowered`; None for a program of
    another platform. Raises what `compile_apart` does."""
    computation = lowered._lowering
    backend = computation.compile_args["backend"]
    if backend.platform != "cpu":
        return None
    return max(backend.local_device_count(), len(computation._device_list))


def compile_portable(
    program: bytes, options: bytes, given: Mapping[str, Any], newer: Mapping[str, Any]
) -> None:
    """Compile a `PortableCompile` for CPUs of this process, with these options of XLA too.

    `newer` are left out where XLA does not know one of them. Raises what XLA raises.
    """
    import jax
    from jax._src import compiler
    from jax._src.interpreters import mlir
    from jax._src.lib import xla_client  # pyright: ignore[reportPrivateImportUsage]
    from jax._src.lib.mlir import ir  # pyright: ignore[reportPrivateImportUsage]

    made: Any = xla_client.CompileOptions.ParseFromString(options)
    number = made.num_replicas * made.num_partitions
    # In a cluster the numbers of devices are not those of one process.
    order = np.arange(number).reshape(made.num_replicas, made.num_partitions)
    made.device_assignment = xla_client.DeviceAssignment.create(order)
    devices = jax.devices("cpu")[:number]
    own: list[tuple[str, Any]] = list(made.env_option_overrides)
    with mlir.make_ir_context():
        module = ir.Module.parse(program)
        for others in ({**given, **newer}, given):
            made.env_option_overrides = own + list(others.items())
            try:
                compiler.backend_compile_and_load(
                    devices[0].client, module, xla_client.DeviceList(tuple(devices)), made, []
                )
            except Exception as error:
                if others is given or not unknown_option(error):
                    raise
            else:
                return


@contextmanager
def logged(files: Sequence[str]) -> Generator[None]:
    """Let these files of XLA write their log to stderr.

    `absl_set_vlog_level` and `absl_set_min_log_level` of jaxlib's `utils`, seen on 0.8.1, 0.10.2
    and 0.12.0.1. Raises AttributeError where they are gone.
    """
    if not files:
        yield
        return
    home: Any = importlib.import_module("jaxlib.utils")
    home.absl_set_min_log_level(0)
    before = [home.absl_set_vlog_level(name, _LOG_LEVEL) for name in files]
    try:
        yield
    finally:
        for name, level in zip(files, before, strict=True):
            home.absl_set_vlog_level(name, level)
        home.absl_set_min_log_level(_FATAL)


_LOG_LEVEL = 3
"""Of XLA, at which a pass writes its answers."""
_FATAL = 3


def unknown_option(error: Exception) -> bool:
    """Whether XLA rejected an option, which it does before it compiles."""
    return "No such compile option" in str(error)


def compile_apart(lowered: Any, options: Mapping[str, str | bool | int]) -> Any:
    """Compile a `Lowered` once more with these options of XLA, and return the executable.

    In no cache: `Lowered.compile` would keep the executable as long as the program can be called,
    find the program in the persistent cache, and send events of a compilation.
    `backend_compile_and_load` of compiler.py, seen on jax 0.8.1, 0.10.2 and 0.12.0.1. Raises
    AttributeError, KeyError or TypeError where these are gone, and what XLA raises for the program.
    """
    from jax._src import compiler

    computation = lowered._lowering
    given = computation.compile_args
    return compiler.backend_compile_and_load(
        given["backend"],
        computation._hlo,
        computation._device_list,
        _options(lowered, options),
        given["host_callbacks"],
    )


def _options(lowered: Any, options: Mapping[str, str | bool | int]) -> Any:
    """XLA's options of a compilation: `compile_args` of `Lowered._lowering` and
    `create_compile_options` of interpreters/pxla.py, seen on jax 0.8.1, 0.10.2 and 0.12.0.1."""
    from jax._src.interpreters import pxla

    computation = lowered._lowering
    given, devices = computation.compile_args, computation._device_list
    sides = (given["in_shardings"], given["out_shardings"])
    placed = (tuple([pxla.maybe_concretize_mesh(s, devices) for s in side]) for side in sides)
    effects = len(given["ordered_effects"])
    inputs, outputs = pxla.get_prop_to_input_output(next(placed), next(placed), effects)
    known = {
        "computation": computation._hlo,
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
    return pxla.create_compile_options(**{name: known[name] for name in names})


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
