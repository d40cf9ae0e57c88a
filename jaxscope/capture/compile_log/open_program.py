"""The report of a program that was compiled anywhere in the process, while JAX still holds it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

from jaxscope.capture import _jax
from jaxscope.capture.compiles.listener import Listener
from jaxscope.capture.compiles.live_programs import LiveProgram
from jaxscope.capture.devices.memory import memory
from jaxscope.capture.jaxpr.tags import untagged
from jaxscope.capture.program import describe
from jaxscope.capture.program.stages import Handles
from jaxscope.capture.source.frames import RawFrame
from jaxscope.capture.source.sources import SourceFiles
from jaxscope.model import Form, Program, Record, TextSource

RELEASED = (
    "JAX no longer holds this program: its function was garbage-collected, or its caches were "
    "cleared. Run the code again, and open the report right after it."
)


class _Info:
    """An argument or a result as JAX's stages describe it; donations are unknown."""

    def __init__(self, aval: Any) -> None:
        self.shape = tuple(aval.shape)
        self.dtype = aval.dtype
        self.weak_type = bool(getattr(aval, "weak_type", False))
        self.donated = False


class _Stage:
    """A stage of a program, with the part of its interface that `Handles` uses."""

    def __init__(self, program: LiveProgram) -> None:
        self._program = program
        self.args_info = [_Info(aval) for aval in program.inputs]
        self.out_info = [_Info(aval) for aval in program.outputs]


class _Module(_Stage):
    """A lowered program."""

    def as_text(self, dialect: str = "stablehlo", *, debug_info: bool = False) -> str:
        return _jax.module_text(self._program.module, dialect)


class _Executable(_Stage):
    """A compiled program, also for `describe`."""

    def as_text(self) -> str:
        return "\n\n".join(module.to_string() for module in self._program.executable.hlo_modules())

    def memory_analysis(self) -> Any:
        return self._program.executable.get_compiled_memory_stats()


def program_of(
    listener: Listener, serial: int, cell_name: Callable[[str], str | None] = lambda file: None
) -> tuple[Record, tuple[TextSource, ...]]:
    """The record and texts of a compilation's program, without running or compiling anything.

    Its links are heuristic, because the program has no tags. Raises LookupError when the
    compilation or its program is no longer held.
    """
    raw, program = listener.history.get(serial), listener.programs.get(serial)
    if raw is None:
        raise LookupError(
            f"Compilation {serial} is no longer in the history, which keeps the latest "
            f"{len(listener.records)}."
        )
    if program is None:
        raise LookupError(RELEASED)
    began = time.perf_counter()
    sources = SourceFiles(None, cell_name)
    # The compiled function comes first: the viewer shows its program beside it, not the call.
    tagged = untagged(program.jaxpr, sources)
    executable, devices = _Executable(program), program.executable.local_devices()
    handles = Handles(None, _Module(program), executable, tagged, sources)
    arguments = raw.call.arguments if raw.call is not None else ()
    paths = [argument.name + path for argument in arguments for path in argument.structure.paths]
    if len(paths) != len(program.inputs):  # it does not take all arguments of the call
        paths = [f"arg{i}" for i in range(len(program.inputs))]
    under = raw.call.transform if raw.call is not None else ""
    shown = Program(
        raw.fun_name,
        (under.split("∘")[-1].removeprefix("a "),) if under else ("jit",),
        describe.named(sorted(devices, key=lambda d: (d.platform, d.id))),
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
    where = f", at {_place(raw.frames[0], sources)}" if raw.frames else ""
    record = Record(
        raw.fun_name,
        Form.LOG,
        describe.now(),
        describe.environment(),
        sources.all(),
        programs=(shown,),
        compiles=(listener.history.compile_of(raw, sources.all()),),
        notes=(
            f"Compilation {raw.number} of this session{where}, opened from the compile log.",
            *sources.notes(),
        ),
        wall_s=time.perf_counter() - began,
    )
    return record, (handles,)


def _place(frame: RawFrame, sources: SourceFiles) -> str:
    """`In [3]:2`, `train.py:12`."""
    index = sources.index(frame.file)
    name = os.path.basename(frame.file) if index is None else sources.all()[index].name
    return f"{name}:{frame.line}"
