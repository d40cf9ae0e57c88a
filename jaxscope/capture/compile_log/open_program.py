"""The report of a program that was compiled anywhere in the process, from what JAX still holds."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

from jaxscope.capture import _jax
from jaxscope.capture.compiles.listener import Listener
from jaxscope.capture.compiles.live_programs import LiveProgram
from jaxscope.capture.compiles.raw_compile import RawCompile
from jaxscope.capture.devices.memory import memory
from jaxscope.capture.jaxpr.tags import untagged
from jaxscope.capture.program import describe
from jaxscope.capture.program.stages import Handles
from jaxscope.capture.source.frames import RawFrame
from jaxscope.capture.source.sources import Sources
from jaxscope.model import Form, Program, Record, TextSource

RELEASED = (
    "JAX has let go of this program: its function is gone, or its caches were cleared. Run the "
    "code again and open its compile right after; the latest programs are kept a while."
)


class _Info:
    """An argument or a result as JAX's stages describe it; which were donated is not known."""

    def __init__(self, aval: Any) -> None:
        self.shape = tuple(aval.shape)
        self.dtype = aval.dtype
        self.weak_type = bool(getattr(aval, "weak_type", False))
        self.donated = False


class _Module:
    """A lowered program, as far as `Handles` asks."""

    def __init__(self, program: LiveProgram) -> None:
        self._module = program.module
        self.args_info = [_Info(aval) for aval in program.inputs]
        self.out_info = [_Info(aval) for aval in program.outputs]

    def as_text(self, dialect: str = "stablehlo", *, debug_info: bool = False) -> str:
        return _jax.module_text(self._module, dialect)


class _Executable:
    """A compiled program, as far as `Handles` and the descriptions ask."""

    def __init__(self, program: LiveProgram) -> None:
        self._executable = program.executable
        self.args_info = [_Info(aval) for aval in program.inputs]
        self.out_info = [_Info(aval) for aval in program.outputs]

    def as_text(self) -> str:
        return "\n\n".join(module.to_string() for module in self._executable.hlo_modules())

    def memory_analysis(self) -> Any:
        return self._executable.get_compiled_memory_stats()

    @property
    def devices(self) -> tuple[str, ...]:
        found = sorted(self._executable.local_devices(), key=lambda d: (d.platform, d.id))
        return tuple([f"{device.platform}:{device.id}" for device in found])


def program_of(
    listener: Listener, serial: int, cell_name: Callable[[str], str | None] = lambda file: None
) -> tuple[Record, tuple[TextSource, ...]]:
    """As `reopened`, for the compile of this serial. Raises LookupError when it is not at hand."""
    raw = listener.history.get(serial)
    if raw is None:
        raise LookupError(f"Compile {serial} is too old: only the latest are remembered.")
    return reopened(raw, listener.programs.get(serial), cell_name)


def reopened(
    raw: RawCompile,
    program: LiveProgram | None,
    cell_name: Callable[[str], str | None] = lambda file: None,
) -> tuple[Record, tuple[TextSource, ...]]:
    """The record and texts of a compile's program, without running or compiling anything.

    Its links are not exact: nobody tagged it. Raises LookupError when it was released.
    """
    if program is None:
        raise LookupError(RELEASED)
    began = time.perf_counter()
    sources = Sources(None, cell_name)
    # What was compiled comes first: what it became stands beside it, and not beside the call.
    tagged = untagged(program.jaxpr, sources)
    executable = _Executable(program)
    handles = Handles(None, _Module(program), executable, tagged, sources)
    paths = _paths(raw, len(program.inputs))
    shown = Program(
        raw.fun_name,
        (raw.call.transform.split("∘")[-1],) if raw.call and raw.call.transform else ("jit",),
        executable.devices,
        describe.inputs(handles, paths, {}, [None] * len(paths)),
        describe.outputs(handles, ()),
        constants=(),
        equations=tagged.equations,
        cost=describe.cost(handles),
        memory=memory(executable),
        compiles=(0,),
        exact=False,
        inexact_why=tagged.why,
    )
    where = f" at {_place(raw.frames[0], sources)}" if raw.frames else ""
    record = Record(
        raw.fun_name,
        Form.LOG,
        describe.now(),
        describe.environment(),
        sources.all(),
        programs=(shown,),
        compiles=(raw.to_compile(sources.all()),),
        notes=(f"Compile {raw.number} of this session{where}, opened from the compile log.",),
        wall_s=time.perf_counter() - began,
    )
    return record, (handles,)


def _place(frame: RawFrame, sources: Sources) -> str:
    """As the log says it: `In [3]:2`, `train.py:12`."""
    index = sources.index(frame.file)
    name = os.path.basename(frame.file) if index is None else sources.all()[index].name
    return f"{name}:{frame.line}"


def _paths(raw: RawCompile, count: int) -> tuple[str, ...]:
    """Names of the flat arguments, where the program takes all that the call gave."""
    arguments = raw.call.arguments if raw.call is not None else ()
    names = [a.name + path for a in arguments for path in a.structure.paths]
    return tuple(names) if len(names) == count else tuple([f"arg{i}" for i in range(count)])
