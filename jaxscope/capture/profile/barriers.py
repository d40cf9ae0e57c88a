"""Isolated lines: the program with optimization barriers between its lines.

XLA fuses operations of several lines into one instruction, which cannot be measured inside. Here
the program is compiled again with `jax.lax.optimization_barrier` at each change of line, on a CPU
without the pass that would remove the barriers before fusion. It is a different program, slower by
what fusion saves, and labeled so everywhere.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import jax

from jaxscope.analysis.links.tags import TAG
from jaxscope.analysis.profile.line_owners import line_of
from jaxscope.capture import _jax
from jaxscope.capture.compiles.listener import own_work
from jaxscope.capture.jaxpr.reader import is_opaque, jaxprs_in, open_jaxpr
from jaxscope.capture.jaxpr.tags import tag, untagged
from jaxscope.capture.options.profile_plan import ProfilePlan
from jaxscope.capture.options.settings import SettingsError
from jaxscope.capture.profile.jitted_calls import JittedCall
from jaxscope.capture.profile.sessions import profile_of, sessions_of, timed
from jaxscope.capture.program import describe
from jaxscope.capture.program.stages import Handles
from jaxscope.capture.source.sources import SourceFiles
from jaxscope.model import Equation, Program, Unavailable
from jaxscope.model.profile import Profile, SourceLine

OPTIONS: dict[str, str | bool] = {"xla_disable_hlo_passes": "cse_barrier_expander"}
"""XLA:CPU expands barriers before fusion; without that pass they stay until code generation. On a
GPU they are expanded after fusion: seen on jaxlib 0.11.2."""

_CALLS = frozenset({"jit", "pjit", "closed_call", "core_call"})
"""These only enclose other equations, and the barriers go between those."""

_BODIES: Mapping[str, tuple[str, ...]] = {
    "scan": ("jaxpr",),
    "while": ("body_jaxpr",),
    "cond": ("branches",),
    "checkpoint": ("jaxpr",),
    "remat2": ("jaxpr",),
}
"""Loops and branches, and their parameters that get barriers, line by line."""


def isolated_profile(
    program: Program,
    handles: Handles,
    leaves: Sequence[Any],
    sources: SourceFiles,
    plan: ProfilePlan,
) -> Profile | Unavailable:
    """The profile of the program with optimization barriers between its lines.

    `leaves` are the program's flat inputs without static ones. Compiles once more and runs the
    program some 100 times more, so not for programs with effects.
    """
    if program.effects:
        return Unavailable("a program with effects is not run again")
    if any(isinstance(leaf, jax.Array) and leaf.is_deleted() for leaf in leaves):
        return Unavailable("the run deleted its donated inputs; profile without donation")
    if handles.traced is None:
        return Unavailable("the program was passed compiled, so barriers cannot be inserted")
    try:
        with own_work():
            return _measured(program, handles, leaves, sources, plan)
    except SettingsError as error:
        return Unavailable(str(error))
    except KeyboardInterrupt:
        return Unavailable("it was interrupted; the rest of the report is complete")
    except Exception as error:
        text = str(error).partition("\n")[0]
        return Unavailable(f"barriers could not be inserted ({type(error).__name__}: {text})")


def _measured(
    program: Program,
    handles: Handles,
    leaves: Sequence[Any],
    sources: SourceFiles,
    plan: ProfilePlan,
) -> Profile | Unavailable:
    barriers = _Barriers(program.equations)
    if len(set(barriers.lines.values()) - {None}) < 2:
        return Unavailable("the program has only one line, so there is nothing to isolate")
    closed = handles.traced.jaxpr

    def lines(*inputs: Any) -> list[Any]:
        return barriers.run(closed, inputs, None)

    leaves = _placed(handles, leaves)
    traced = jax.jit(lines).trace(*leaves)
    tagged = tag(traced, sources)
    lowered = traced.lower()
    on_cpu = all(device.startswith("cpu") for device in program.devices)
    compiled = lowered.compile(compiler_options=OPTIONS if on_cpu else None)
    mine = Handles(traced, lowered, compiled, tagged, sources)
    module = mine.module()
    if isinstance(module, Unavailable):
        return module
    if on_cpu and not any(i.opcode == "opt-barrier" for i in module.instructions()):
        return Unavailable("this XLA removes the barriers between lines")
    built = replace(program, equations=tagged.equations)
    arguments = (tuple(leaves),)
    found = sessions_of(compiled, lambda count: arguments * count, plan, mine)
    made = profile_of(built, mine, found.sessions, len(sources.all()))
    return (
        made if isinstance(made, Unavailable) else replace(made, sampling_note=found.sampling_note)
    )


def _placed(handles: Handles, leaves: Sequence[Any]) -> list[Any]:
    """The inputs with the shardings of the ordinary program, which its options may set."""
    if handles.compiled is None or len(describe.device_objects(handles)) < 2:
        return list(leaves)
    where = describe.shardings(handles.compiled, "input_shardings", len(leaves))
    return [
        leaf if sharding is None else jax.device_put(leaf, sharding)
        for leaf, sharding in zip(leaves, where, strict=True)
    ]


def seconds_by_source(
    isolated: Profile | Unavailable | None, sources: int
) -> list[dict[SourceLine, float]]:
    """Seconds of each isolated line, by source, to split multi-line fusions of the ordinary one.

    Empty without a reliable profile.
    """
    if not isinstance(isolated, Profile) or isolated.unreliable:
        return []
    return [
        {row.place: row.seconds for row in isolated.lines if row.place.source == source}
        for source in range(sources)
    ]


class _Barriers:
    """Replay a program's equations with a barrier at each change of line or direction."""

    def __init__(self, equations: Sequence[Equation]) -> None:
        self._children: dict[int | None, list[Equation]] = {}
        for equation in equations:
            self._children.setdefault(equation.parent, []).append(equation)
        self.lines = {e.id: line_of(e) for e in equations}
        """Line and direction by equation; None where the line is unknown."""
        self.number = 0

    def run(self, jaxpr: Any, inputs: Iterable[Any], parent: int | None) -> list[Any]:
        """The outputs of a jaxpr whose equations are those inside `parent`."""
        return self.of(jaxpr, inputs, self._children.get(parent, []))

    def of(self, jaxpr: Any, inputs: Iterable[Any], equations: list[Equation]) -> list[Any]:
        """The outputs of a jaxpr with these equations."""
        return _Replay(self, jaxpr, inputs, equations).outputs()

    def inside(self, equation: Equation) -> list[Equation]:
        return self._children.get(equation.id, [])

    def several_lines(self, equation: Equation) -> bool:
        return len({self.lines[inner.id] for inner in self.inside(equation)} - {None}) > 1


class _Replay:
    """One jaxpr, its values, and the values computed since the last barrier."""

    def __init__(
        self, barriers: _Barriers, jaxpr: Any, inputs: Iterable[Any], equations: list[Equation]
    ) -> None:
        self._barriers = barriers
        self._jaxpr = open_jaxpr(jaxpr)
        self._values: dict[Any, Any] = dict(
            zip(self._jaxpr.constvars, getattr(jaxpr, "consts", ()), strict=True)
        )
        self._values |= dict(zip(self._jaxpr.invars, inputs, strict=True))
        self._equations = equations
        self._fresh: list[Any] = []

    def outputs(self) -> list[Any]:
        if len(self._equations) != len(self._jaxpr.eqns):
            raise ValueError("the equations of this program differ from those that were read")
        last: SourceLine | None = None
        for equation, known in zip(self._jaxpr.eqns, self._equations, strict=True):
            line = self._barriers.lines[known.id]
            if line is not None and last is not None and line != last:
                self._flush()
            last = line or last
            made = self._apply(equation, known)
            for variable, value in zip(equation.outvars, made, strict=True):
                self._values[variable] = value
                if type(variable).__name__ != "DropVar":
                    self._fresh.append(variable)
        self._flush()
        return [self._read(variable) for variable in self._jaxpr.outvars]

    def _read(self, variable: Any) -> Any:
        return variable.val if hasattr(variable, "val") else self._values[variable]

    def _flush(self) -> None:
        """Pass all values of the line through one barrier, so that nothing moves across."""
        fresh = [v for v in self._fresh if isinstance(self._values[v], jax.Array)]
        self._fresh = []
        if not fresh:
            return
        passed = jax.lax.optimization_barrier(tuple(self._values[v] for v in fresh))
        self._values |= dict(zip(fresh, passed, strict=True))
        self._barriers.number += 1

    def _apply(self, equation: Any, known: Equation) -> list[Any]:
        inputs = [self._read(variable) for variable in equation.invars]
        params = dict(equation.params)
        several = self._barriers.several_lines(known)
        if several and known.primitive in _CALLS and "jaxpr" in params:
            return self._barriers.run(params["jaxpr"], inputs, known.id)
        if several and known.primitive in _BODIES:
            params |= self._bodies(params, known)
        return _jax.replay(equation, inputs, params, lambda name: bool(TAG.fullmatch(name)))

    def _bodies(self, params: dict[str, Any], known: Equation) -> dict[str, Any]:
        """The jaxprs of a loop or branch with barriers between their lines."""
        # In the order in which the equations were read: by parameter, then consecutively.
        left = self._barriers.inside(known)
        found: dict[str, Any] = {}
        for name, value in params.items():
            bodies = list(jaxprs_in(value))
            if not bodies or is_opaque(known.primitive):
                continue
            made: list[Any] = []
            for body in bodies:
                number = len(open_jaxpr(body).eqns)
                mine, left = left[:number], left[number:]
                made.append(self._with_barriers(body, mine))
            if name in _BODIES[known.primitive]:
                found[name] = type(value)(made) if isinstance(value, (tuple, list)) else made[0]
        return found

    def _with_barriers(self, body: Any, equations: list[Equation]) -> Any:
        lines = {self._barriers.lines[equation.id] for equation in equations} - {None}
        if len(lines) < 2:
            return body
        inner = open_jaxpr(body)
        shapes = [
            jax.ShapeDtypeStruct(v.aval.shape, v.aval.dtype, weak_type=v.aval.weak_type)
            for v in inner.invars
        ]

        def replayed(*inputs: Any) -> list[Any]:
            return self._barriers.of(body, inputs, equations)

        made = jax.make_jaxpr(replayed)(*shapes)
        return made if isinstance(body, type(made)) else made.jaxpr


def of_calls(
    calls: Sequence[JittedCall], sources: SourceFiles, plan: ProfilePlan
) -> dict[str, Profile | Unavailable]:
    """Isolated profiles by name; the first of several functions with one name."""
    found: dict[str, Profile | Unavailable] = {}
    for call in calls:
        if call.name not in found:
            with _jax.with_settings(call.jax_settings):
                found[call.name] = _of_call(call, sources, plan)
    return found


def _of_call(call: JittedCall, sources: SourceFiles, plan: ProfilePlan) -> Profile | Unavailable:
    """Trace the function again, and compile it with the barriers."""
    try:
        with own_work():
            args, kwargs = call.arguments()
            traced = call.function.trace(*args, **kwargs)
            tagged = untagged(traced, sources)
            handles = Handles(traced, tagged=tagged, sources=sources)
            equations, effects = tagged.equations, describe.effects(handles)
            where = describe.devices(handles)
            program = Program(
                call.name,
                ("jit",),
                where,
                (),
                (),
                constants=(),
                equations=equations,
                effects=effects,
            )
            fused = None if effects else _fused_s(call, plan)
        inputs = _jax.traced_arguments(call.function, args, kwargs)
    except KeyboardInterrupt:
        return Unavailable("it was interrupted; the rest of the report is complete")
    except Exception as error:
        text = str(error).partition("\n")[0]
        return Unavailable(f"{call.name} could not be traced again ({text})")
    leaves = jax.tree_util.tree_leaves(inputs)
    found = isolated_profile(program, handles, leaves, sources, plan)
    return found if isinstance(found, Unavailable) else replace(found, fused_s=fused)


def _fused_s(call: JittedCall, plan: ProfilePlan) -> float:
    """Median seconds of the ordinary program: one session's calls, in a fifth of the budget."""
    found: list[float] = []
    spent = 0.0
    while len(found) < plan.calls and (not found or spent < plan.budget_s / plan.sessions):
        args, kwargs = jax.block_until_ready(call.arguments())
        found.append(timed(lambda *a, k=kwargs: call.function(*a, **k), args))
        spent += found[-1]
    return statistics.median(found)
