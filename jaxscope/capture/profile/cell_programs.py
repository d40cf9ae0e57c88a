"""The programs that ran in a profiled cell, read while they are alive."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from jaxscope.analysis.hlo import HloModule, parse_module
from jaxscope.analysis.links.tags import clean_hlo
from jaxscope.analysis.profile.attribute import profile
from jaxscope.analysis.profile.cell import ExecutedProgram, ProgramExecution
from jaxscope.analysis.profile.line_owners import frames_inside, of_frames
from jaxscope.analysis.profile.profiled_calls import ProfiledCall, ProfiledSession
from jaxscope.analysis.trace.activity import COMMAND_BUFFER
from jaxscope.analysis.trace.event import TraceEvent
from jaxscope.analysis.trace.operations import kernels_by_run
from jaxscope.analysis.trace.schedule import KernelSchedule
from jaxscope.capture import _jax
from jaxscope.capture.profile import barriers
from jaxscope.capture.source.sources import SourceFiles
from jaxscope.model import Program, Stage, StageKind, Unavailable
from jaxscope.model.profile import Profile, SourceLine

_LAMBDA = "<lambda>"
_PMAP = "pmap"
"""For any: the program does not name the function."""


def modules(
    runs: Sequence[ProgramExecution], events: Sequence[TraceEvent]
) -> tuple[dict[int, HloModule | None], dict[int, str]]:
    """The optimized HLO of each program that ran, None where it was released; and its text.

    Of several of one name it is the one with the instructions that ran; where CUDA graphs hide
    them, the one whose schedule explains most kernels.
    """
    seen: dict[int, tuple[str, set[str]]] = {}
    for run in runs:
        seen.setdefault(run.program, (run.module, set()))[1].update(op.name for op in run.ops)
    live: dict[str, list[tuple[HloModule, str]]] = {}
    for name, raw in _jax.live_modules(frozenset(name for name, _ in seen.values())):
        # The frames give the lines, and are removed from the text to show.
        live.setdefault(name, []).append((parse_module(raw), raw))
    kernels: dict[int, list[list[TraceEvent]]] = {}
    for (number, *_), of_run in kernels_by_run(events).items():
        kernels.setdefault(number, []).append(of_run)
    modules: dict[int, HloModule | None] = {}
    texts: dict[int, str] = {}
    for number, (name, names) in seen.items():
        told = [op for op in names if not op.startswith(COMMAND_BUFFER)]
        fitting = [
            (module, raw)
            for module, raw in live.get(name, ())
            if all(map(module.instruction, told))
        ]
        if len(fitting) > 1 and number in kernels:
            explained = [_explained(module, kernels[number]) for module, _ in fitting]
            fitting = [fitting[explained.index(max(explained))]]
        modules[number] = fitting[0][0] if fitting else None
        if fitting:
            texts[number] = clean_hlo(fitting[0][1]).text
    return modules, texts


def _explained(module: HloModule, runs: Iterable[Sequence[TraceEvent]]) -> int:
    return sum(map(KernelSchedule(module).explained, runs))


def function_lines(tree: ast.Module) -> frozenset[int]:
    """Lines of the cell inside functions, which may have been compiled."""
    found: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            first = node if isinstance(node, ast.Lambda) else node.body[0]
            found.update(range(first.lineno, (node.end_lineno or node.lineno) + 1))
    return frozenset(found)


def known_program(
    runs: Sequence[ProgramExecution],
    number: int,
    module: HloModule | None,
    file: str,
    functions: frozenset[int],
    namespace: MutableMapping[str, Any],
) -> ExecutedProgram:
    name = next(run.module for run in runs if run.program == number)
    eager = _is_eager(name, module, namespace)
    inside: dict[str, SourceLine] = {}
    if module is not None and not eager:
        inside = {
            instruction: origin.place
            for instruction, origin in of_frames(module, {file: 0}, 0).items()
            if origin.place.line in functions
        }
    return ExecutedProgram(module, eager, inside)


def _is_eager(name: str, module: HloModule | None, namespace: Mapping[str, Any]) -> bool:
    """Whether it is JAX's own program for one operation, not a function that the user jitted.

    JAX names it after the operation: `jit_sin`, `jit__where`, `jit_while`, `jit_scatter-add`. A
    user function may have such a name, too (`_step`, `norm`): then instructions have a frame of
    that name outside JAX. A jitted lambda is `jit__lambda`. A pmap has a name of JAX's, and is the
    user's.
    """
    name = title(name)
    if name in (_LAMBDA, _PMAP) or _jax.splits_for_devices(name):
        return False
    # Under any name: JAX before 0.9 writes no functions into its frames.
    if any(is_jitted(value, name) for value in list(namespace.values())):
        return False
    if module is not None and name in _users_functions(module):
        return False
    homes = (jnp, jax.lax, jax.random, jax.nn, jnp.linalg, jnp.fft)
    if name.startswith("_") or any(hasattr(home, name) for home in homes):
        return True
    return name in _jax.primitive_names()


def is_jitted(value: Any, name: str) -> bool:
    """Whether it is a jitted function of that name; a module has any name that it contains."""
    if type(value).__name__ == "module":
        return False
    try:
        return getattr(value, "__name__", None) == name and hasattr(value, "lower")
    except Exception:  # a user's object may raise on any attribute
        return False


def title(module: str) -> str:
    """The function's name: XLA's module names have no angle brackets."""
    name = module.removeprefix("jit_")
    if name in _jax.PMAPPED:
        return _PMAP
    return _LAMBDA if name.strip("_") == "lambda" else name


def _users_functions(module: HloModule) -> frozenset[str]:
    home = _jax.jax_directory()
    frames = {frame for i in module.instructions() for frame in module.frames(i)}
    return frozenset(
        frame.function.rpartition(".")[2] for frame in frames if not frame.file.startswith(home)
    )


def records(
    runs: Sequence[ProgramExecution],
    modules: Mapping[int, HloModule | None],
    texts: Mapping[int, str],
    programs: Mapping[int, ExecutedProgram],
    by_op: Mapping[int, Mapping[str, float]],
    sources: SourceFiles,
    isolated: Mapping[str, Profile | Unavailable],
) -> tuple[Program, ...]:
    """The compiled functions that ran, by total time, each with its profile.

    `isolated` are their profiles with isolated lines, by name.
    """
    found: list[Program] = []
    order = sorted(by_op, key=lambda number: -sum(by_op[number].values()))
    for number in order:
        module = modules.get(number)
        if module is None or programs[number].eager:
            continue
        if _jax.splits_for_devices(title(module.name)):
            continue
        mine = [run for run in runs if run.program == number]
        # From the first instruction: queued calls would count as dispatch.
        calls = tuple(ProfiledCall(run.start, run.end, run.ops) for run in mine)
        devices = sorted({op.device for run in mine for op in run.ops})
        kind = jax.default_backend()
        where = tuple(f"{kind}:{device}" for device in devices)
        frames = {frame.file for _, stack in frames_inside(module) for frame in stack}
        indices = {file: sources.index(file) for file in sorted(frames)}
        files = {file: index for file, index in indices.items() if index is not None}
        name = title(module.name)
        known = range(len(sources.all()))
        times = profile(
            module,
            [of_frames(module, files, i) for i in known],
            [ProfiledSession(calls, ())],
            ", ".join(where),
            measured=barriers.seconds_by_source(isolated.get(name), len(known)),
        )
        stage = Stage(StageKind.OPTIMIZED_HLO, texts[number])
        found.append(
            Program(
                name,
                ("jit",),
                where,
                (),
                (),
                constants=(),
                equations=(),
                stages=(stage,),
                profile=times,
                isolated=isolated.get(name),
            )
        )
    return tuple(found)
