"""Line mode: the program with a barrier between its lines, so that each line's time is its own.

XLA fuses operations of several lines into one instruction, and inside it nobody can measure. Here
the program is built a second time with `jax.lax.optimization_barrier` at each change of line, and
the pass that would take the barriers out again is turned off. It is another program, slower by
what fusion saves, and is labeled so everywhere.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import jax

from jaxscope.analysis.links.tags import TAG
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
from jaxscope.model.profile import Place, Profile

OPTIONS: dict[str, str | bool] = {"xla_disable_hlo_passes": "cse_barrier_expander"}
"""XLA:CPU expands barriers before it fuses; without that pass they stay until code generation."""

_CALLS = frozenset({"jit", "pjit", "closed_call", "core_call"})
"""These only hold other equations: barriers go between those."""

_BODIES: Mapping[str, tuple[str, ...]] = {
    "scan": ("jaxpr",),
    "while": ("body_jaxpr",),
    "cond": ("branches",),
    "checkpoint": ("jaxpr",),
    "remat2": ("jaxpr",),
}
"""Loops and branches, and which of their parameters are worked on, line by line."""

Key = tuple[int, int, str] | None


def line_mode(
    program: Program,
    handles: Handles,
    leaves: Sequence[Any],
    sources: SourceFiles,
    plan: ProfilePlan,
) -> Profile | Unavailable:
    """The profile of the program with a barrier between its lines.

    `leaves` are the program's flat inputs, static ones left out. Compiles once more, and runs the
    program some 100 times more. Not for programs with effects, which would happen again.
    """
    if program.effects:
        return Unavailable("a program with effects is not run again")
    if any(isinstance(leaf, jax.Array) and leaf.is_deleted() for leaf in leaves):
        return Unavailable("donated inputs are gone after the run; profile without donation")
    if handles.traced is None:
        return Unavailable("the program was given compiled, so barriers cannot be put into it")
    try:
        with own_work():
            return _measured(program, handles, leaves, sources, plan)
    except SettingsError as error:
        return Unavailable(str(error))
    except KeyboardInterrupt:
        return Unavailable("it was interrupted; the rest of the report is whole")
    except Exception as error:
        text = str(error).partition("\n")[0]
        return Unavailable(f"barriers could not be put in ({type(error).__name__}: {text})")


def _measured(
    program: Program,
    handles: Handles,
    leaves: Sequence[Any],
    sources: SourceFiles,
    plan: ProfilePlan,
) -> Profile | Unavailable:
    barriers = _Barriers(program.equations)
    closed = handles.traced.jaxpr

    def lines(*inputs: Any) -> list[Any]:
        return barriers.run(closed, inputs, None)

    leaves = _placed(handles, leaves)
    traced = jax.jit(lines).trace(*leaves)
    tagged = tag(traced, sources)
    lowered = traced.lower()
    compiled = lowered.compile(compiler_options=OPTIONS)
    mine = Handles(traced, lowered, compiled, tagged, sources)
    if not barriers.number:
        return Unavailable("the program has one line only, so there is nothing to keep apart")
    module = mine.module()
    if isinstance(module, Unavailable):
        return module
    if not any(i.opcode == "opt-barrier" for i in module.instructions()):
        return Unavailable("this XLA takes the barriers between lines out again")
    built = replace(program, equations=tagged.equations)
    arguments = (tuple(leaves),)
    found = sessions_of(compiled, lambda count: arguments * count, plan, mine)
    made = profile_of(built, mine, found.sessions, len(sources.all()))
    return made if isinstance(made, Unavailable) else replace(made, guard=found.guard)


def _placed(handles: Handles, leaves: Sequence[Any]) -> list[Any]:
    """The inputs where the usual program has them, which its own options may say."""
    if handles.compiled is None or len(describe.device_objects(handles)) < 2:
        return list(leaves)
    where = describe.shardings(handles.compiled, "input_shardings", len(leaves))
    return [
        leaf if sharding is None else jax.device_put(leaf, sharding)
        for leaf, sharding in zip(leaves, where, strict=True)
    ]


def seconds_by_line(found: Profile, source: int) -> dict[Place, float]:
    """Measured seconds of each line of a source, for splitting what is fused elsewhere."""
    return {row.place: row.seconds for row in found.lines if row.place.source == source}


class _Barriers:
    """Replays a program's equations with a barrier at each change of line or direction."""

    def __init__(self, equations: Sequence[Equation]) -> None:
        self._children: dict[int | None, list[Equation]] = {}
        for equation in equations:
            self._children.setdefault(equation.parent, []).append(equation)
        self._keys: dict[int, Key] = {e.id: _key(e) for e in equations}
        self.number = 0

    def run(self, jaxpr: Any, inputs: Iterable[Any], parent: int | None) -> list[Any]:
        """The outputs of a jaxpr whose equations are those inside `parent`."""
        return self.of(jaxpr, inputs, self._children.get(parent, []))

    def of(self, jaxpr: Any, inputs: Iterable[Any], equations: list[Equation]) -> list[Any]:
        """The outputs of a jaxpr that has these equations."""
        return _Replay(self, jaxpr, inputs, equations).outputs()

    def key(self, equation: Equation) -> Key:
        """Line and direction; where no line is known, that of what holds it."""
        return self._keys[equation.id]

    def inside(self, equation: Equation) -> list[Equation]:
        return self._children.get(equation.id, [])

    def several_lines(self, equation: Equation) -> bool:
        return len({self.key(inner) for inner in self.inside(equation)} - {None}) > 1


def _key(equation: Equation) -> Key:
    frame = next((f for f in equation.frames if f.source is not None), None)
    if frame is None or frame.source is None:
        return None
    return frame.source, frame.span.line, equation.phase.value


class _Replay:
    """One jaxpr, its values, and what has been made since the last barrier."""

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
            raise ValueError("the equations of this program are not those that were read")
        last: Key = None
        for equation, known in zip(self._jaxpr.eqns, self._equations, strict=True):
            key = self._barriers.key(known)
            if key is not None and last is not None and key != last:
                self._flush()
            last = key or last
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
        """Nothing moves across: all that the line made goes through one barrier."""
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
        # In the order in which the equations were read: by parameter, then one after another.
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
        keys = {self._barriers.key(equation) for equation in equations} - {None}
        if len(keys) < 2:
            return body
        inner = open_jaxpr(body)
        shapes = [
            jax.ShapeDtypeStruct(v.aval.shape, v.aval.dtype, weak_type=v.aval.weak_type)
            for v in inner.invars
        ]

        def lines(*inputs: Any) -> list[Any]:
            return self._barriers.of(body, inputs, equations)

        made = jax.make_jaxpr(lines)(*shapes)
        return made if isinstance(body, type(made)) else made.jaxpr


def of_calls(
    calls: Sequence[JittedCall], sources: SourceFiles, plan: ProfilePlan
) -> dict[str, Profile | Unavailable]:
    """By name; of several functions of one name, the first."""
    found: dict[str, Profile | Unavailable] = {}
    for call in calls:
        if call.name not in found:
            found[call.name] = _of_call(call, sources, plan)
    return found


def _of_call(call: JittedCall, sources: SourceFiles, plan: ProfilePlan) -> Profile | Unavailable:
    """The function is traced again, and compiled once more with the barriers."""
    try:
        with own_work():
            args, kwargs = call.arguments()
            traced = call.function.trace(*args, **kwargs)
            tagged = untagged(traced, sources)
            handles = Handles(traced, tagged=tagged, sources=sources)
            equations, effects = tagged.equations, describe.effects(handles)
            where = describe.devices(handles)
            program = Program(call.name, ("jit",), where, (), (), (), equations, effects=effects)
            usual = None if effects else _usual_s(call, plan)
        inputs = _jax.traced_arguments(call.function, args, kwargs)
    except KeyboardInterrupt:
        return Unavailable("it was interrupted; the rest of the report is whole")
    except Exception as error:
        text = str(error).partition("\n")[0]
        return Unavailable(f"{call.name} could not be traced again ({text})")
    leaves = jax.tree_util.tree_leaves(inputs)
    found = line_mode(program, handles, leaves, sources, plan)
    return found if isinstance(found, Unavailable) else replace(found, usual_s=usual)


def _usual_s(call: JittedCall, plan: ProfilePlan) -> float:
    """The median of as many calls as one session has, in a fifth of the time at most."""
    found: list[float] = []
    spent = 0.0
    while len(found) < plan.calls and (not found or spent < plan.budget_s / plan.sessions):
        args, kwargs = jax.block_until_ready(call.arguments())
        found.append(timed(lambda *a, k=kwargs: call.function(*a, **k), args))
        spent += found[-1]
    return statistics.median(found)
