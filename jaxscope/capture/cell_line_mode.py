"""Line mode of the functions that a profiled cell called."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import replace

import jax

from jaxscope.capture import _jax, describe, profile
from jaxscope.capture.called import JittedCall
from jaxscope.capture.events import own_work
from jaxscope.capture.linemode import line_mode
from jaxscope.capture.plan import Plan
from jaxscope.capture.sources import Sources
from jaxscope.capture.stages import Handles
from jaxscope.capture.tags import untagged
from jaxscope.model import Program, Unavailable
from jaxscope.model.profile import Profile


def of_calls(
    calls: Sequence[JittedCall], sources: Sources, plan: Plan
) -> dict[str, Profile | Unavailable]:
    """By name; of several functions of one name, the first."""
    found: dict[str, Profile | Unavailable] = {}
    for call in calls:
        if call.name not in found:
            found[call.name] = _of_call(call, sources, plan)
    return found


def _of_call(call: JittedCall, sources: Sources, plan: Plan) -> Profile | Unavailable:
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


def _usual_s(call: JittedCall, plan: Plan) -> float:
    """The median of as many calls as one session has, in a fifth of the time at most."""
    found: list[float] = []
    spent = 0.0
    while len(found) < plan.calls and (not found or spent < plan.budget_s / plan.sessions):
        args, kwargs = jax.block_until_ready(call.arguments())
        found.append(profile.timed(lambda *a, k=kwargs: call.function(*a, **k), args))
        spent += found[-1]
    return statistics.median(found)
