"""Causes that are not a difference to an earlier compilation: a first one, or an unknown one."""

from jaxscope.model import Cause, CauseKind


def first_call(name: str, *, since: str = "", under: str = "", note: str = "") -> Cause:
    """`since`: the time at which jaxscope started listening, where JAX had worked before."""
    under = f" under {under}" if under else ""
    if since:
        text = f"This is the first compilation of `{name}`{under}{_listening(since)}."
    else:
        text = f"`{name}` was compiled{under} for the first time."
    return Cause(CauseKind.FIRST_CALL, "", "", "", f"{text} {note}".rstrip(), fix="", since=since)


def linked_again(name: str) -> Cause:
    """A function compiled before, by a jit that jaxscope cannot tag or for an earlier report."""
    text = f"`{name}` had been compiled before, and was compiled again to link its lines."
    return Cause(CauseKind.LINKED_AGAIN, "", "", "", text, fix="")


def eager_op(name: str, *, since: str = "") -> Cause:
    """An operation outside any jit."""
    when = _listening(since)
    text = f"The operation `{name}` ran eagerly (outside any jit) for the first time{when}."
    fix = (
        "Put the surrounding code into a function under `jax.jit`, so that it compiles as one "
        "program, unless its sizes depend on values."
    )
    return Cause(CauseKind.EAGER_OP, name, "", "", text, fix=fix, since=since)


def _listening(since: str) -> str:
    return f" since jaxscope started listening at {since}" if since else ""


PLACE_IT = (
    "Pass a NumPy array, which needs no program to shard, or shard the input once beforehand: "
    "`x = jax.device_put(x, sharding)`."
)
"""For the sharding of inputs: a user cannot jit it, or pad its arguments."""


def sharded_for_devices(name: str, given: str, before: str) -> Cause:
    """An operation of JAX's own, which shards an input over its devices; `before` is its previous
    input, if any."""
    text = f"JAX sharded {f'an input, {given},' if given else 'an input'} with its own `{name}`"
    if not before:
        return Cause(CauseKind.EAGER_OP, "", "", "", f"{text}.", fix=PLACE_IT)
    if before == given:
        text = f"{text}, in a different way than before."
        return Cause(CauseKind.EAGER_SHAPE, "", "", "", text, fix=PLACE_IT)
    text = f"{text}; the previous one was {before}."
    return Cause(CauseKind.EAGER_SHAPE, "", before, given, text, fix=PLACE_IT)


def unknown(name: str, why: str) -> Cause:
    """A compilation that cannot be explained."""
    text = f"The cause of compiling `{name}` is unknown: {why}."
    return Cause(CauseKind.UNKNOWN, "", "", "", text, fix="")
