"""A program that was compiled for a target, in the place of JAX's `Compiled`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import SimpleNamespace
from typing import Any

import jax
import numpy as np

from jaxscope import words
from jaxscope.analysis.passes.snapshots import computes_the_same
from jaxscope.analysis.targets.buffers import Buffers, read_buffers
from jaxscope.analysis.targets.names import Target
from jaxscope.capture import _jax
from jaxscope.capture.targets import process
from jaxscope.capture.targets.environment import TargetError
from jaxscope.capture.targets.process import Answer
from jaxscope.model import Unavailable

NOT_HERE = "the program was compiled for {}, which this machine does not run"
_OF_PYTHON = ("ImportError", "ModuleNotFoundError", "AttributeError", "TypeError", "KeyError")
_OUT_OF_MEMORY = ("RESOURCE_EXHAUSTED", "Ran out of memory", "out of memory")


@dataclass(frozen=True, slots=True)
class TargetDevice:
    """A device of a target: what `jax.Device` says of one that is there."""

    platform: str
    id: int
    device_kind: str
    process_index: int = 0


@dataclass(frozen=True)
class DeviceSet:
    """The sharding of a value over devices that are not there."""

    device_set: frozenset[TargetDevice]

    def devices_indices_map(self, shape: tuple[int, ...]) -> Mapping[TargetDevice, Any]:
        """The whole value on each device."""
        return {device: (slice(None),) * len(shape) for device in self.device_set}


@dataclass(frozen=True)
class TargetProgram:
    """The compiler's answer, with those methods of `jax.stages.Compiled` that a report reads."""

    target: Target
    lowered: Any = field(repr=False)
    answer: Answer = field(repr=False)

    @property
    def platform(self) -> str:
        """JAX's name of it: `cpu`, `gpu`, `tpu`."""
        return "gpu" if self.target.platform == "cuda" else self.target.platform

    @property
    def args_info(self) -> Any:
        return self.lowered.args_info

    @property
    def out_info(self) -> Any:
        return self.lowered.out_info

    @property
    def out_of_memory(self) -> str:
        """The compiler's sentence where the program does not fit; empty where it does."""
        error = self.answer.error
        return "" if error is None else _first_line(error[1]).partition(": ")[2]

    def as_text(self) -> str:
        """The optimized HLO; of a program that does not fit, from the dump."""
        found = self.answer.facts.get("text")
        if found is not None:
            return str(found)
        return self.answer.dumped("after_optimizations.txt")

    @cached_property
    def buffers(self) -> Buffers | Unavailable:
        """The plan of the target's memory."""
        try:
            dumped = self.answer.dumped
            return read_buffers(dumped("buffer-assignment.txt"), dumped("live-range.txt"))
        except ValueError as error:
            return Unavailable(str(error))

    def memory_analysis(self) -> Any:
        """The compiler's figures; where it gave none, those of its plan."""
        given = self.answer.facts.get("memory")
        if given is None:
            given = self._planned()
        if given is None:
            return None
        return SimpleNamespace(**{f"{name}_size_in_bytes": size for name, size in given.items()})

    def _planned(self) -> dict[str, int] | None:
        if isinstance(self.buffers, Unavailable):
            return None
        allocations = self.buffers.allocations
        return {
            "argument": sum(one.bytes for one in allocations if one.argument),
            "output": sum(one.bytes for one in allocations if one.result),
            "temp": self.buffers.temp,
            "alias": sum(one.bytes for one in allocations if one.argument and one.result),
            "generated_code": 0,
        }

    def cost_analysis(self) -> Any:
        """The compiler's own count; None where it gives none."""
        return self.answer.facts.get("cost")

    def runtime_executable(self) -> Any:
        """Raises ValueError: there is none in this process."""
        raise ValueError(NOT_HERE.format(self.target.name))

    @cached_property
    def devices(self) -> tuple[TargetDevice, ...]:
        """The devices that the program is partitioned for."""
        kind = str(self.answer.facts.get("device_kind", ""))
        number = _jax.partitions(self.lowered)
        return tuple([TargetDevice(self.platform, i, kind) for i in range(number)])

    @property
    def input_shardings(self) -> tuple[Any, ...]:
        """By flat argument; None for one that the program does not take."""
        given = self._shardings("parameter", "in_shardings")
        number = len(jax.tree_util.tree_leaves(self.args_info))
        kept = _jax.kept_arguments(self.lowered)
        taken = iter(given)
        return tuple([
            next(taken, None) if kept is None or position in kept else None
            for position in range(number)
        ])  # fmt: skip

    @property
    def output_shardings(self) -> tuple[Any, ...]:
        """By flat result."""
        given = self._shardings("output", "out_shardings")
        number = len(jax.tree_util.tree_leaves(self.out_info))
        return tuple(given) if len(given) == number else self._everywhere(number)

    def _shardings(self, side: str, asked: str) -> tuple[Any, ...]:
        """As the program was lowered, else as the compiler chose them."""
        known = _jax.given_shardings(self.lowered, asked)
        chosen = self.answer.facts.get(f"{side}_shardings") or []
        number = len(known) or len(chosen)
        if len(self.devices) == 1 or self.mesh is None:
            return self._everywhere(number)
        specs = [getattr(one, "spec", None) for one in known]
        for position, one in enumerate(chosen[:number]):
            if specs[position] is None:
                specs[position] = _jax.partition_spec(bytes.fromhex(one), self.mesh)
        return tuple([
            DeviceSet(frozenset(self.devices)) if spec is None
            else jax.sharding.NamedSharding(self.mesh, spec)
            for spec in specs
        ])  # fmt: skip

    @cached_property
    def mesh(self) -> Any | None:
        """The mesh of the program's inputs, over the target's devices."""
        for side in ("in_shardings", "out_shardings"):
            for one in _jax.given_shardings(self.lowered, side):
                mesh = getattr(one, "mesh", None)
                if mesh is not None and mesh.size == len(self.devices):
                    grid = np.array(self.devices, dtype=object).reshape(tuple(mesh.shape.values()))
                    return jax.sharding.Mesh(grid, mesh.axis_names, axis_types=mesh.axis_types)
        return None

    def _everywhere(self, number: int) -> tuple[DeviceSet, ...]:
        return (DeviceSet(frozenset(self.devices)),) * number


def lower_for(traced: Any, target: Target) -> Any:
    """The program for a target's platform. It must never be compiled in this process: JAX would
    compile it for the devices that it has.

    Raises TargetError for a program that JAX cannot lower for it.
    """
    try:
        return _jax.lowered_for(traced, target.platform)
    except (NotImplementedError, ValueError, RuntimeError) as error:
        text = _first_line(str(error))
        if "callback" in text or "specified backend" in text:
            raise TargetError(
                f"JAX lowers callbacks, such as `jax.debug.print`, only for devices that are "
                f"there. Leave them out to compile for {target.name}."
            ) from None
        raise TargetError(f"JAX cannot lower this program for {target.name}: {text}") from None


def compile_for(lowered: Any, target: Target) -> TargetProgram:
    """Compile a lowered program in the target's worker.

    Raises TargetError for a target that is not installed, a topology that it does not have, a
    program that its compiler rejects, and a worker that crashes or does not answer. A program that
    does not fit is compiled as far as its memory plan.
    """
    number = _jax.partitions(lowered)
    if number > target.chips and target.platform != "tpu":
        raise TargetError(_too_few(number, target, target.chips))
    answer = _asked(lowered, target)
    made = TargetProgram(target, lowered, answer)
    has = int(answer.facts.get("devices", 0))
    if has and number > has:
        raise TargetError(_too_few(number, target, has))
    if answer.error is None:
        return made
    text = answer.error[1]
    if any(words_ in text for words_ in _OUT_OF_MEMORY) and made.as_text():
        return made
    if answer.error[0] in _OF_PYTHON:
        raise TargetError(
            f"The compiler of {target.name} could not be called with this JAX "
            f"({answer.error[0]}: {words.cut(text, 160)})."
        )
    what = "this program" if has else "this topology"
    raise TargetError(f"The compiler of {target.name} rejects {what}: {_first_line(text)}")


def bundles_of(program: TargetProgram) -> Answer:
    """The dump of a TPU's machine code, from one more compilation.

    Raises TargetError as `compile_for` does, and where libtpu now made another program.
    """
    answer = _asked(program.lowered, program.target, bundles=True)
    if answer.error is not None:
        raise TargetError(_first_line(answer.error[1]))
    if not computes_the_same(str(answer.facts.get("text", "")), program.as_text()):
        raise TargetError("libtpu compiled another program than before.")
    return answer


def _asked(lowered: Any, target: Target, *, bundles: bool = False) -> Answer:
    request = {
        "partitions": _jax.partitions(lowered),
        "propagate": _jax.free_shardings(lowered),
    }
    return process.ask(target, _jax.module_bytes(lowered), request, bundles=bundles)


def _too_few(number: int, target: Target, has: int) -> str:
    return (
        f"The program is sharded over {words.count(number, 'device')}, but {target.name} has {has}."
    )


def _first_line(text: str) -> str:
    first = words.cut(text.strip().partition("\n")[0], 300)
    return first if first.endswith((".", "!")) else f"{first}."
