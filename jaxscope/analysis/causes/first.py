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


def unknown(name: str, why: str) -> Cause:
    """Nobody can say more."""
    text = f"Why `{name}` was compiled is not known: {why}."
    return Cause(CauseKind.UNKNOWN, "", "", "", text, "")
