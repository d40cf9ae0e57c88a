"""The programs that ran in a profiled cell, read while they are alive."""

from __future__ import annotations

import ast
from collections.abc import Mapping, MutableMapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from jaxscope.analysis.hlo import HloModule, parse_module
from jaxscope.analysis.links.tags import clean_hlo
from jaxscope.analysis.profile import (
    ProgramRun,
    RunProgram,
    TracedCall,
    TracedSession,
    frames_inside,
    of_frames,
    profile,
)
from jaxscope.capture import _jax
from jaxscope.capture.profile.line_mode import seconds_by_line
from jaxscope.capture.source.sources import SourceFiles
from jaxscope.model import Program, Stage, StageKind, Unavailable
from jaxscope.model.profile import Place, Profile

_LAMBDA = "<lambda>"


def modules(
    runs: Sequence[ProgramRun],
) -> tuple[dict[int, HloModule | None], dict[int, str]]:
    """The optimized HLO of each program that ran, None where it is gone; and its text to show."""
    seen: dict[int, tuple[str, set[str]]] = {}
    for run in runs:
        seen.setdefault(run.program, (run.module, set()))[1].update(op.name for op in run.ops)
    live: dict[str, list[tuple[HloModule, str]]] = {}
    for name, raw in _jax.live_modules(frozenset(name for name, _ in seen.values())):
        # Its frames tell the lines, and are taken out of what is shown.
        live.setdefault(name, []).append((parse_module(raw), raw))
    modules: dict[int, HloModule | None] = {}
    texts: dict[int, str] = {}
    for number, (name, names) in seen.items():
        modules[number] = None
        for module, raw in live.get(name, ()):
            if all(module.instruction(op) for op in names):
                modules[number], texts[number] = module, clean_hlo(raw)[0]
                break
    return modules, texts


def function_lines(tree: ast.Module) -> frozenset[int]:
    """Lines of the cell inside functions: what they do may have been compiled."""
    found: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            found.update(range(node.body[0].lineno, (node.end_lineno or node.lineno) + 1))
        elif isinstance(node, ast.Lambda):
            found.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return frozenset(found)


def known_program(
    runs: Sequence[ProgramRun],
    number: int,
    module: HloModule | None,
    file: str,
    functions: frozenset[int],
    namespace: MutableMapping[str, Any],
) -> RunProgram:
    name = next(run.module for run in runs if run.program == number)
    eager = _is_eager(name, module, namespace)
    inside: dict[str, Place] = {}
    if module is not None and not eager:
        inside = {
            instruction: origin.place
            for instruction, origin in of_frames(module, {file: 0}, 0).items()
            if origin.place.line in functions
        }
    return RunProgram(module, eager, inside)


def _is_eager(name: str, module: HloModule | None, namespace: Mapping[str, Any]) -> bool:
    """A program of JAX's own for one operation, and not a function that the user jitted.

    JAX names it after the operation: `jit_sin`, `jit__where`, `jit_dynamic_slice`. A function of
    the user's may be called so too (`_step`, `norm`): then instructions come from inside a function
    of that name which is none of JAX's. A jitted lambda is `jit__lambda`.
    """
    name = title(name)
    if name == _LAMBDA:
        return False
    # Under whatever name; JAX before 0.9 writes no functions into its frames.
    if any(is_jitted(value, name) for value in list(namespace.values())):
        return False
    if module is not None and name in _users_functions(module):
        return False
    homes = (jnp, jax.lax, jax.random, jax.nn, jnp.linalg, jnp.fft)
    return name.startswith("_") or any(hasattr(home, name) for home in homes)


def is_jitted(value: Any, name: str) -> bool:
    """Whether it is a jitted function of that name; modules answer to any name that they hold."""
    if type(value).__name__ == "module":
        return False
    try:
        return getattr(value, "__name__", None) == name and hasattr(value, "lower")
    except Exception:  # what objects of users do when they are asked is their own affair
        return False


def title(module: str) -> str:
    """The function's name: XLA's names of modules have no angle brackets."""
    name = module.removeprefix("jit_")
    return _LAMBDA if name.strip("_") == "lambda" else name


def _users_functions(module: HloModule) -> frozenset[str]:
    home = _jax.jax_directory()
    frames = {frame for i in module.instructions() for frame in module.frames(i)}
    return frozenset(
        frame.function.rpartition(".")[2] for frame in frames if not frame.file.startswith(home)
    )


def records(
    runs: Sequence[ProgramRun],
    modules: Mapping[int, HloModule | None],
    texts: Mapping[int, str],
    programs: Mapping[int, RunProgram],
    by_op: Mapping[int, Mapping[str, float]],
    sources: SourceFiles,
    apart: Mapping[str, Profile | Unavailable],
) -> tuple[Program, ...]:
    """The compiled functions that ran, the longest in all first, each with its own profile.

    `apart` has, by name, what line mode said of them.
    """
    found: list[Program] = []
    order = sorted(by_op, key=lambda number: -sum(by_op[number].values()))
    for number in order:
        module = modules.get(number)
        if module is None or programs[number].eager:
            continue
        mine = [run for run in runs if run.program == number]
        # From its first instruction: calls that queue up would count as dispatch.
        calls = tuple(TracedCall(run.start, run.end, run.ops) for run in mine)
        devices = sorted({op.device for run in mine for op in run.ops})
        kind = jax.default_backend()
        where = tuple(f"{kind}:{device}" for device in devices)
        files = _files(module, sources)
        name = title(module.name)
        lines_apart = apart.get(name)
        known = range(len(sources.all()))
        split: list[dict[Place, float]] = []
        if isinstance(lines_apart, Profile) and not lines_apart.distrust:
            split = [seconds_by_line(lines_apart, i) for i in known]
        times = profile(
            module,
            [of_frames(module, files, i) for i in known],
            [TracedSession(calls, ())],
            ", ".join(where),
            measured=split,
        )
        stage = Stage(StageKind.OPTIMIZED_HLO, texts[number])
        found.append(
            Program(
                name,
                ("jit",),
                where,
                (),
                (),
                (),
                (),
                (stage,),
                profile=times,
                line_mode=lines_apart,
            )
        )
    return tuple(found)


def _files(module: HloModule, sources: SourceFiles) -> dict[str, int]:
    """The user's files that the function's frames name, also other cells and modules."""
    names = {frame.file for _, frames in frames_inside(module) for frame in frames}
    found = {name: sources.index(name) for name in sorted(names)}
    return {name: index for name, index in found.items() if index is not None}
