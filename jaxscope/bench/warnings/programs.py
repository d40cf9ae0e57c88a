"""Warnings from a compiled program about its own benchmark: J101 to J106, J108, J109 and J111."""

from __future__ import annotations

import re
from collections.abc import Iterator
from types import CodeType
from typing import Any

from jaxscope import words
from jaxscope.analysis.cost import counted
from jaxscope.analysis.hlo import HloModule
from jaxscope.capture.jaxpr.reader import user_call
from jaxscope.capture.program import describe
from jaxscope.capture.program.stages import Handles
from jaxscope.model import StageKind, ValueKind
from jaxscope.model.comparison import BenchWarning

_BIG_CONSTANT = 1 << 16
"""Bytes. XLA folds smaller ones too, but a bias or a table of that size needs no warning."""
_NOTHING = frozenset({
    "parameter", "constant", "copy", "tuple", "bitcast", "get-tuple-element",
    "copy-start", "copy-done", "call",
})  # fmt: skip
_FILLING = frozenset({"broadcast", "iota"})
_SLOW_PATH = ("jax_debug_nans", "jax_debug_infs", "jax_disable_jit", "jax_check_tracer_leaks")
SLOW_COMPILE_S = 5.0


def program_warnings(handles: Handles, gradient: bool = False) -> Iterator[BenchWarning]:
    """The warnings from the program's jaxpr and optimized HLO.

    A gradient drops the value that it differentiates, so dead equations there are expected.
    """
    size = sum(value.bytes or 0 for value in describe.constants(handles))
    if size > _BIG_CONSTANT:
        yield BenchWarning(
            "J101",
            f"It captures {words.size(size)} of arrays as constants, and XLA may fold the work "
            "away. Pass them as arguments.",
        )
    values = describe.inputs(handles, (), {}, ())
    known = counted(handles.text(StageKind.OPTIMIZED_HLO).text)
    if known is not None and not _computes(known[0]):
        yield computes_nothing() if values else _reads_nothing()
    unused = [value for value in values if value.kind is ValueKind.UNUSED]
    if unused:
        number = f"{len(unused)} of {len(values)} inputs"
        yield BenchWarning("J103", f"The result does not depend on {number}, which were dropped.")
    if not gradient and (dead := _dead(handles)) is not None:
        yield dead


def computes_nothing() -> BenchWarning:
    """J102, for a program of any compiler."""
    return BenchWarning(
        "J102",
        "The optimized program computes nothing: its result is a constant or its input. Compute a "
        "result that depends on the inputs.",
    )


def _reads_nothing() -> BenchWarning:
    """J102, for a program without inputs: the user may take a constant for one."""
    return BenchWarning(
        "J102",
        "The optimized program computes nothing: the code has no inputs, so its result is a "
        "constant. Make the data that it reads an array: all other objects are constants.",
    )


def donation(positions: tuple[int, ...], names: tuple[str, ...]) -> BenchWarning | None:
    """J105."""
    if not positions:
        return None
    which = words.names([names[i] for i in positions], len(positions))
    return BenchWarning(
        "J105",
        f"A call donates {which}. Each call gets fresh inputs, created outside the timed region.",
    )


def transfer(call: Any) -> BenchWarning | None:
    """J106, from one call under `jax.transfer_guard`; its other exceptions are ignored here."""
    import jax

    try:
        with jax.transfer_guard_host_to_device("disallow"):
            jax.block_until_ready(call())
    except Exception as error:
        text = str(error).strip().partition("\n")[0]
        if "transfer" in text.lower():
            shape = re.search(r"ShapedArray\(([^()]*)\)", text)
            what = shape[1] if shape is not None else text.partition(":")[2].strip()[:120] or text
            return BenchWarning(
                "J106",
                f"Each call copies host data to the device ({what}). Pass arrays that are on the "
                "device, and keep indices and numbers inside the jitted function.",
            )
    return None


def slow_path() -> BenchWarning | None:
    """J108."""
    import jax

    on = [name for name in _SLOW_PATH if getattr(jax.config, name, False)]
    if not on:
        return None
    verb = "is" if len(on) == 1 else "are"
    return BenchWarning(
        "J108", f"{', '.join(on)} {verb} on, so every call of JAX takes the slow path."
    )


def slow_compile(seconds: float) -> BenchWarning | None:
    """J109."""
    if seconds <= SLOW_COMPILE_S:
        return None
    return BenchWarning("J109", f"XLA compiled for {seconds:.1f} s before the first call.")


def not_an_array(outputs: list[Any]) -> BenchWarning | None:
    """J111."""
    import jax

    others = sorted({type(leaf).__name__ for leaf in outputs if not isinstance(leaf, jax.Array)})
    if not others:
        return None
    return BenchWarning(
        "J111",
        f"The result is a host value ({', '.join(others)}), so the time includes its copy to the "
        "host, or JAX did not compute it. Return a JAX array.",
    )


def _computes(module: HloModule) -> bool:
    """Whether some instruction does more than copy or fill. Broadcasting an input is work;
    filling an array with a constant is the remains of folding."""
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


def _dead(handles: Handles) -> BenchWarning | None:
    jaxpr = getattr(handles.traced, "jaxpr", None)
    jaxpr = getattr(jaxpr, "jaxpr", jaxpr)
    if jaxpr is None:
        return None
    found = list(_liveness(jaxpr, [True] * len(jaxpr.outvars)))
    # A function of JAX may compute what its caller does not use: `logsumexp` has a sign.
    used = {call for call, alive in found if alive}
    dead = sum(not alive and call not in used for call, alive in found)
    if not dead:
        return None
    verb = "is" if dead == 1 else "are"
    return BenchWarning(
        "J104",
        f"{dead} of {len(found)} equations {verb} removed as dead code. Return every value that "
        "you want timed.",
    )


_Call = tuple[CodeType, int] | None


def _liveness(
    jaxpr: Any, wanted: list[bool], call: _Call = None, needed_outside: bool = True
) -> Iterator[tuple[_Call, bool]]:
    """For each equation, nested jits included, the call of the user's code that made it, and
    whether a wanted result or an effect needs it.

    `call` made the jit that the jaxpr is of, which is needed or not.
    """
    needed = {id(v) for v, want in zip(jaxpr.outvars, wanted, strict=True) if want and _variable(v)}
    for equation in reversed(jaxpr.eqns):
        outs = [id(v) in needed for v in equation.outvars]
        alive = any(outs) or bool(equation.effects)
        made = user_call(equation) or call
        inner = equation.params.get("jaxpr") if equation.primitive.name in ("jit", "pjit") else None
        if inner is not None:
            inner = getattr(inner, "jaxpr", inner)
            yield from _liveness(inner, outs, made, needed_outside and alive)
        else:
            yield made, needed_outside and alive
        if alive:
            needed |= {id(v) for v in equation.invars if _variable(v)}


def _variable(value: Any) -> bool:
    """Literals have a `val`, variables do not."""
    return not hasattr(value, "val")
