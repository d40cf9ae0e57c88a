"""Forward and backward passes of an equation, from its name stack.

JAX writes each transform into the name stack of every equation that it makes: `jvp` for a forward
pass, `transpose` around `jvp` for its backward pass, and the scope `rematted_computation` for what
`jax.checkpoint` rematerializes. Derivatives of derivatives nest. A `transpose` around no `jvp` is
that of a linear function, as solvers use them, and not a pass of a derivative.
"""

import functools
from collections.abc import Iterable, Iterator

from jaxscope.model import Phase

Passes = tuple[Phase, ...]
"""Outermost first: `transpose(jvp(jvp()))` is backward, then forward."""

BACKWARD = (Phase.BACKWARD, Phase.REMATERIALIZED)
"""The phases that run in a backward pass."""
_REMATERIALIZED = "rematted_computation"


@functools.lru_cache(maxsize=4096)  # most equations share a few name stacks
def passes(scopes: tuple[tuple[str, str], ...]) -> Passes:
    """The passes in a name stack of `(kind, name)`, kind being `Transform` or `Scope`.

    A user's own `jax.named_scope("jvp")` is a scope, so it does not count.
    """
    found: list[Phase] = []
    transposed = False
    for kind, name in scopes:
        if kind != "Transform":
            if name == _REMATERIALIZED:
                found.append(Phase.REMATERIALIZED)
            continue
        if name == "transpose":
            transposed = True
        elif name == "jvp":
            found.append(Phase.BACKWARD if transposed else Phase.FORWARD)
            transposed = False
    return tuple(found)


def phase(passes: Passes) -> Phase:
    """The phase of an equation: inside any backward pass it is backward, at any order."""
    if Phase.BACKWARD not in passes:
        return Phase.FORWARD if Phase.FORWARD in passes else Phase.PRIMAL
    inside = passes[passes.index(Phase.BACKWARD) :]
    return Phase.REMATERIALIZED if Phase.REMATERIALIZED in inside else Phase.BACKWARD


def gradient_numbers(phases: Iterable[Phase]) -> Iterator[int]:
    """By equation, the number of the gradient that it belongs to, of several in a row: a new one
    begins where forward work follows backward work."""
    number, before = 0, Phase.FORWARD
    for each in phases:
        number += each is Phase.FORWARD and before in BACKWARD
        before = before if each is Phase.PRIMAL else each
        yield number


def levels(passes: Passes) -> Passes:
    """Forward or backward, by derivative, the outermost first."""
    return tuple([one for one in passes if one is not Phase.REMATERIALIZED])


def residual_level(producer: Passes, consumer: Passes) -> tuple[int, bool] | None:
    """The derivative that saves a value as a residual, from its producer's and consumer's passes.

    The number of the derivative, 0 the outermost, whose backward pass holds the consumer and not
    the producer; and whether the producer is in the forward pass of that derivative. If it is
    not, the value came from outside: it is a residual only if that forward pass reads it as well,
    else it is the cotangent that the backward pass starts from. None when no pass is between them.
    """
    made: Passes = levels(producer)
    for level, here in enumerate(levels(consumer)):
        there = made[level] if level < len(made) else None
        if here is Phase.BACKWARD and there is not Phase.BACKWARD:
            return level, there is Phase.FORWARD
        if there is not here:
            # From here on the two have no derivative in common.
            made = ()
    return None
