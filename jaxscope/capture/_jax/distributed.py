"""The coordination service of `jax.distributed`, and compilations that span its processes."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import sys
from contextlib import suppress
from typing import Any, NamedTuple

from jaxscope.capture._jax.frames import jax_locals

_PXLA = "interpreters/pxla.py"
_CLIENT = ("key_value_set", "key_value_increment", "key_value_try_get", "blocking_key_value_get")


class SharedCompile(NamedTuple):
    """An XLA compilation for devices of several processes, while it runs."""

    module: Any
    """The StableHLO module."""
    devices: tuple[int, ...]
    processes: tuple[int, ...]
    options: str
    """Compiler options of the call."""


class Service(NamedTuple):
    """This process's connection to the coordination service."""

    client: Any
    process: int
    processes: int


def coordination_service() -> Service | None:
    """The connection that `jax.distributed.initialize` made; None before it, or without the names.

    `jax._src.distributed.global_state` and its `client`, a `DistributedRuntimeClient` of jaxlib;
    seen on jax 0.8.1, 0.10.2 and 0.12.0.1.
    """
    if "jax" not in sys.modules:
        return None
    from jax._src import distributed

    state: Any = getattr(distributed, "global_state", None)
    client = getattr(state, "client", None)
    if client is None or not all(hasattr(client, name) for name in _CLIENT):
        return None
    return Service(client, int(state.process_id), int(state.num_processes))


def shared_compile() -> SharedCompile | None:
    """The compilation at whose start JAX is; None where its devices are of one process.

    Locals `computation`, `da` and `compiler_options_kvs` of `_cached_compilation`
    (interpreters/pxla.py). None without them, so that nothing is compared.
    """
    found = jax_locals("_cached_compilation", _PXLA)
    module, devices = found.get("computation"), found.get("da")
    if module is None or devices is None:
        return None
    processes = sorted({device.process_index for device in devices})
    if len(processes) < 2:
        return None
    options: Any = found.get("compiler_options_kvs") or ()
    return SharedCompile(
        module,
        tuple(device.id for device in devices),
        tuple(processes),
        " ".join(f"{name}={value}" for name, value in sorted(options)),
    )


def compiling_module() -> Any:
    """The StableHLO module that JAX is about to compile, as `shared_compile` finds it."""
    return jax_locals("_cached_compilation", _PXLA).get("computation")


def plain_text(module: Any) -> str:
    """A StableHLO module as text without locations."""
    return module.operation.get_asm(enable_debug_info=False)


def compiled_executable() -> Any:
    """The executable at the end of a compilation; None when it failed or a name is gone."""
    return jax_locals("_cached_compilation", _PXLA).get("xla_executable")


def optimized_text(executable: Any) -> str | None:
    """The optimized HLO of `compiled_executable`; None when it has none."""
    modules = executable.hlo_modules() if hasattr(executable, "hlo_modules") else ()
    return modules[0].to_string() if modules else None


def settings() -> dict[str, str]:
    """Every setting of JAX by name; empty when `jax.config.values` is gone."""
    import jax

    values = getattr(jax.config, "values", None) or {}
    return {name: str(value) for name, value in sorted(values.items())}


def meet(name: str, timeout_s: float) -> None:
    """Wait until every process calls this with the same name, or for that long.

    `wait_at_barrier` of the same client; without it, or after an error, nothing is waited for.
    """
    found = coordination_service()
    with suppress(Exception):
        if found is not None:
            found.client.wait_at_barrier(name, int(timeout_s * 1000))
