"""What a compiled program says about its own benchmark: J101 to J106, J108 and J109."""

from __future__ import annotations

import re
from typing import Any

from jaxscope import words
from jaxscope.analysis.hlo import HloModule
from jaxscope.analysis.links.line_figures import counted
from jaxscope.capture.program import describe
from jaxscope.capture.program.stages import Handles
from jaxscope.model import StageKind, ValueKind
from jaxscope.model.comparison import Doubt

_BIG_CONSTANT = 1 << 16
"""Bytes. XLA folds smaller ones too, but a bias or a table of that size is nothing to report."""
_NOTHING = frozenset({
    "parameter", "constant", "copy", "tuple", "bitcast", "get-tuple-element",
    "copy-start", "copy-done", "call",
})  # fmt: skip
_FILLING = frozenset({"broadcast", "iota"})
_SLOW_PATH = ("jax_debug_nans", "jax_debug_infs", "jax_disable_jit", "jax_check_tracer_leaks")
SLOW_COMPILE_S = 5.0


def program_doubts(handles: Handles, gradient: bool = False) -> tuple[Doubt, ...]:
    """The doubts that the program's jaxpr and optimized HLO give reason for.

    A gradient leaves out the value that it is the gradient of: what ends there is no mistake.
    """
    dead = None if gradient else _dead(handles)
    found = (_constants(handles), _folded(handles), _unused(handles), dead)
    return tuple([doubt for doubt in found if doubt is not None])


def computes_nothing() -> Doubt:
    """J102, of whichever compiler's program."""
    return Doubt(
        "J102",
        "The optimized program computes nothing (its result is constant, or its input): the time "
        "is that of a call.",
    )


def donation(positions: tuple[int, ...], names: tuple[str, ...]) -> Doubt | None:
    """J105."""
    if not positions:
        return None
    which = ", ".join(f"`{names[i]}`" for i in positions)
    return Doubt(
        "J105",
        f"A call uses up {which}: each gets fresh inputs, made outside the timed region.",
    )


def transfer(call: Any) -> Doubt | None:
    """J106, by one call under `jax.transfer_guard`; what else it raises is not of interest here."""
    import jax

    try:
        with jax.transfer_guard_host_to_device("disallow"):
            jax.block_until_ready(call())
    except Exception as error:
        said = str(error).strip().partition("\n")[0]
        if "transfer" in said.lower():
            shape = re.search(r"ShapedArray\(([^()]*)\)", said)
            what = shape[1] if shape is not None else said.partition(":")[2].strip()[:120] or said
            return Doubt(
                "J106",
                f"Each call copies host data to the device ({what}): pass arrays that are there "
                "already, and keep indices and numbers inside the jitted function.",
            )
    return None


def slow_path() -> Doubt | None:
    """J108."""
    import jax

    on = [name for name in _SLOW_PATH if getattr(jax.config, name, False)]
    if not on:
        return None
    verb = "is" if len(on) == 1 else "are"
    return Doubt("J108", f"{', '.join(on)} {verb} on: every call of JAX takes the slow path.")


def slow_compile(seconds: float) -> Doubt | None:
    """J109."""
    if seconds <= SLOW_COMPILE_S:
        return None
    return Doubt(
        "J109",
        f"XLA compiled for {seconds:.1f} s; folding constants of closed-over data is a usual "
        "cause: pass the data as arguments.",
    )


def not_an_array(outputs: list[Any]) -> Doubt | None:
    """J111."""
    import jax

    others = sorted({type(leaf).__name__ for leaf in outputs if not isinstance(leaf, jax.Array)})
    if not others:
        return None
    return Doubt(
        "J111",
        f"The result is a host value ({', '.join(others)}), so there is nothing to wait for: the "
        "time includes bringing it to the host, or JAX did not compute it.",
    )


def _constants(handles: Handles) -> Doubt | None:
    size = sum(value.bytes or 0 for value in describe.constants(handles))
    if size <= _BIG_CONSTANT:
        return None
    return Doubt(
        "J101",
        f"It closes over {words.size(size)} of arrays: XLA bakes them in and may fold the work "
        "away. Pass them as arguments.",
    )


def _folded(handles: Handles) -> Doubt | None:
    known = counted(handles.text(StageKind.OPTIMIZED_HLO).text)
    return None if known is None or _computes(known[0]) else computes_nothing()


def _computes(module: HloModule) -> bool:
    """Whether some instruction does more than hand on or fill. Spreading an input over a larger
    array is work; filling one with a constant is what folding leaves."""
    entry = module.computation(module.entry)
    inputs = any(i.opcode == "parameter" for i in entry.instructions) if entry else True
    constant = {i.name for i in module.instructions() if i.opcode in ("constant", "iota")}
    for instruction in module.instructions():
        if instruction.opcode in _NOTHING or instruction.opcode == "fusion":
            continue
        filled = not inputs or set(instruction.operands) <= constant
        if not (instruction.opcode in _FILLING and filled):
            return True
    return False


def _unused(handles: Handles) -> Doubt | None:
    values = describe.inputs(handles, (), {}, ())
    unused = [value for value in values if value.kind is ValueKind.UNUSED]
    if not unused:
        return None
    number = f"{len(unused)} of {len(values)} inputs"
    return Doubt("J103", f"{number} are unused by the result and were dropped.")


def _dead(handles: Handles) -> Doubt | None:
    jaxpr = getattr(handles.traced, "jaxpr", None)
    jaxpr = getattr(jaxpr, "jaxpr", jaxpr)
    if jaxpr is None:
        return None
    total, live = _liveness(jaxpr, [True] * len(jaxpr.outvars))
    if live >= total:
        return None
    one = total - live == 1
    reach, removed = ("does", "is") if one else ("do", "are")
    return Doubt(
        "J104",
        f"{total - live} of {total} equations {reach} not reach a result and {removed} removed: "
        "return what you want timed.",
    )


def _liveness(jaxpr: Any, wanted: list[bool]) -> tuple[int, int]:
    """All equations and those that a wanted result or an effect needs; nested jits are entered."""
    needed = {id(v) for v, want in zip(jaxpr.outvars, wanted, strict=True) if want and _variable(v)}
    total = live = 0
    for equation in reversed(jaxpr.eqns):
        outs = [id(v) in needed for v in equation.outvars]
        alive = any(outs) or bool(equation.effects)
        inner = equation.params.get("jaxpr") if equation.primitive.name in ("jit", "pjit") else None
        if inner is not None:
            inner = getattr(inner, "jaxpr", inner)
            below, living = _liveness(inner, outs)
            total, live = total + below, live + (living if alive else 0)
        else:
            total, live = total + 1, live + alive
        if alive:
            needed |= {id(v) for v in equation.invars if _variable(v)}
    return total, live


def _variable(value: Any) -> bool:
    """Literals have a value, variables none."""
    return not hasattr(value, "val")
