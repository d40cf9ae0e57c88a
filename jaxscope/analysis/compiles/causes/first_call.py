"""Compiles that had nothing before them, and those of which nothing is known."""

from __future__ import annotations

from jaxscope.model import Cause, CauseKind


def first_call(name: str, *, sure: bool, under: str = "", note: str = "") -> Cause:
    """`sure`: JAX's own cache held nothing of it either."""
    if under:
        text = f"`{name}` had not been compiled under {under} before."
    elif sure:
        text = f"`{name}` had not been compiled before."
    else:
        text = f"This is the first compile of `{name}` that jaxscope has seen."
    return Cause(CauseKind.FIRST_CALL, "", "", "", f"{text} {note}".rstrip(), "")


def eager_op(name: str) -> Cause:
    """An operation outside any jit."""
    text = f"The operation `{name}` ran outside any jit for the first time, so it was compiled."
    fix = (
        "Each operation outside a jit is compiled by itself. Put the code around it into a "
        "function under `jax.jit`: then it is one program."
    )
    return Cause(CauseKind.EAGER_OP, name, "", "", text, fix)


PLACE_IT = (
    "Pass a NumPy array, which is cut without a program, or place the input once, before: "
    "`x = jax.device_put(x, sharding)`."
)
"""For the cutting of inputs. Nobody can put it into a function of theirs, or pad its arguments."""


def cut_for_devices(name: str, given: str, before: str) -> Cause:
    """An operation of JAX's own, which cuts an input for its devices; `before` is what it cut the
    last time, if anything."""
    which = f", {given}," if given else ""
    text = f"JAX cut an input{which} into pieces for its devices with its own `{name}`"
    if not before:
        return Cause(CauseKind.EAGER_OP, "", "", "", f"{text}.", PLACE_IT)
    if before == given:
        return Cause(CauseKind.EAGER_SHAPE, "", "", "", f"{text}, into others now.", PLACE_IT)
    return Cause(
        CauseKind.EAGER_SHAPE, "", before, given, f"{text}; before it was {before}.", PLACE_IT
    )


def unknown(name: str, why: str) -> Cause:
    """Nobody can say more."""
    text = f"Why `{name}` was compiled is not known: {why}."
    return Cause(CauseKind.UNKNOWN, "", "", "", text, "")
