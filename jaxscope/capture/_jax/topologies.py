"""Compilation for devices that are not there, in the process of a target's environment, and what
such a program keeps of JAX's objects in the user's process."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

_MEMORY = ("argument", "output", "temp", "alias", "generated_code")


def target_devices(platform: str, topology: str, config: str) -> list[Any]:
    """The devices of a topology; of a CPU, the simulated ones of this process.

    `jax.experimental.topologies.get_topology_desc` is public. Raises what the compiler's plug-in
    raises for a topology that it does not know.
    """
    import jax

    if platform == "cpu":
        return jax.devices("cpu")
    from jax.experimental import topologies

    if platform == "tpu":
        # One chip alone is smaller than the default host of four.
        single = set(topology.rpartition(":")[2].split("x")) == {"1"}
        given = {"chips_per_host_bounds": [1, 1, 1]} if single else {}
        return list(topologies.get_topology_desc(topology, platform="tpu", **given).devices)
    found = topologies.get_topology_desc(platform=platform, target_config=config, topology=topology)
    return list(found.devices)


def compile_for(
    devices: Sequence[Any],
    program: bytes,
    options: Mapping[str, str | bool],
    propagate: Sequence[Sequence[bool]],
) -> Any:
    """Compile a StableHLO module for these devices; the executable, which cannot run.

    `propagate` allows the partitioner to choose the shardings of inputs and of results, each.
    `get_compile_options` and `backend_compile_and_load` of compiler.py, seen on jax 0.8.1, 0.10.2
    and 0.12.0.1. Raises what the compiler raises.
    """
    from jax._src import compiler
    from jax._src.interpreters import mlir
    from jax._src.lib import xla_client  # pyright: ignore[reportPrivateImportUsage]
    from jax._src.lib.mlir import ir  # pyright: ignore[reportPrivateImportUsage]

    assignment = np.array([[device.id for device in devices]])
    given = compiler.get_compile_options(
        num_replicas=1,
        num_partitions=len(devices),
        device_assignment=assignment,
        env_options_overrides=dict(options),  # pyright: ignore[reportArgumentType]
    )
    build = given.executable_build_options
    build.allow_spmd_sharding_propagation_to_parameters = list(propagate[0])
    build.allow_spmd_sharding_propagation_to_output = list(propagate[1])
    with mlir.make_ir_context():
        module = ir.Module.parse(program)
        return compiler.backend_compile_and_load(
            devices[0].client, module, xla_client.DeviceList(tuple(devices)), given, []
        )


def figures(executable: Any) -> dict[str, Any]:
    """Text, memory, cost and shardings of an executable, as JSON; what it does not give is left
    out.

    Methods of jaxlib's `Executable` and `LoadedExecutable`, seen on 0.8.1 to 0.12.
    """
    modules = executable.hlo_modules()
    found: dict[str, Any] = {"text": "\n\n".join(module.to_string() for module in modules)}
    with contextlib.suppress(Exception):
        stats = executable.get_compiled_memory_stats()
        found["memory"] = {n: int(getattr(stats, f"{n}_size_in_bytes")) for n in _MEMORY}
    with contextlib.suppress(Exception):
        cost = executable.cost_analysis()
        cost = cost[0] if isinstance(cost, list) else cost
        found["cost"] = {k: float(v) for k, v in cost.items() if "{" not in k}
    for side in ("parameter", "output"):
        with contextlib.suppress(Exception):
            given = getattr(executable, f"get_{side}_shardings")()
            if given is not None:
                found[f"{side}_shardings"] = [one.SerializeToString().hex() for one in given]
    return found


def lowered_for(traced: Any, platform: str) -> Any:
    """The `Lowered` of a `Traced` for a platform. It must never be compiled in this process: JAX
    would compile it for the devices that it has."""
    return traced.lower(lowering_platforms=(platform,))


def module_bytes(lowered: Any) -> bytes:
    """The StableHLO module of a `Lowered`, with locations.

    `mlir.module_to_bytecode`, seen on jax 0.8.1 to 0.12.
    """
    from jax._src.interpreters import mlir

    return bytes(mlir.module_to_bytecode(lowered.compiler_ir("stablehlo")))


def partitions(lowered: Any) -> int:
    """The number of devices that a program is partitioned for.

    `compile_args["num_devices"]` of `Lowered._lowering`, seen on jax 0.8.1 to 0.12; 1 without it.
    """
    given = getattr(getattr(lowered, "_lowering", None), "compile_args", None)
    number = given.get("num_devices") if isinstance(given, dict) else None
    return int(number) if number else 1


def free_shardings(lowered: Any) -> tuple[list[bool], list[bool]]:
    """Whether the partitioner may choose the sharding of each input and of each result.

    `in_shardings` and `out_shardings` of `compile_args`, as `get_prop_to_input_output` of
    interpreters/pxla.py reads them; seen on jax 0.8.1 to 0.12. None may be chosen without them.
    """
    given = getattr(getattr(lowered, "_lowering", None), "compile_args", None) or {}
    try:
        from jax._src.interpreters import pxla

        effects = len(given["ordered_effects"])
        sides = pxla.get_prop_to_input_output(
            given["in_shardings"], given["out_shardings"], effects
        )
        return list(sides[0]), list(sides[1])
    except Exception:
        return [False], [False]


def given_shardings(lowered: Any, side: str) -> list[Any]:
    """JAX's `in_shardings` or `out_shardings` of the arguments that the program takes; empty
    without the name."""
    given = getattr(getattr(lowered, "_lowering", None), "compile_args", None) or {}
    return list(given.get(side) or ())


def partition_spec(serialized: bytes, mesh: Any) -> Any | None:
    """The PartitionSpec of an XLA sharding over a mesh; None where it has none.

    `parse_flatten_op_sharding` of sharding_impls.py and `OpSharding` of jaxlib, seen on jax 0.8.1
    to 0.12.
    """
    try:
        from jax._src import sharding_impls
        from jax._src.lib import xla_client  # pyright: ignore[reportPrivateImportUsage]

        proto = xla_client.OpSharding()
        proto.ParseFromString(serialized)
        hlo: Any = xla_client.HloSharding.from_proto(proto)
        parsed: Any = sharding_impls.parse_flatten_op_sharding(hlo, mesh)[0]
        return parsed if not hasattr(parsed, "get_partition_spec") else parsed.get_partition_spec()
    except Exception:
        return None


def foreign_platforms(lowered: Any) -> tuple[str, ...]:
    """The platforms of a Lowered that are not those of its devices; JAX would compile it for them.

    `_platforms` and `compile_args["backend"]` of `Lowered._lowering`, seen on jax 0.8.1 to 0.12;
    empty without them, and for a program of several platforms, one of which is there.
    """
    lowering = getattr(lowered, "_lowering", None)
    platforms: tuple[str, ...] = tuple(getattr(lowering, "_platforms", None) or ())
    given = getattr(lowering, "compile_args", None) or {}
    here = getattr(given.get("backend"), "platform", None)
    known = ("gpu", "cuda", "rocm") if here == "gpu" else (here,)
    return () if here is None or set(platforms) & set(known) else platforms
