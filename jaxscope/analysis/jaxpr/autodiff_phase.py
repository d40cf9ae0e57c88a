"""The passes of differentiation that a name stack tells of.

JAX writes each transform into the name stack of every equation that it makes: `jvp` for a forward
pass, `transpose` around `jvp` for the backward pass that belongs to it, and the scope
`rematted_computation` for what `jax.checkpoint` computes again. Derivatives of derivatives nest. A
`transpose` around no `jvp` is that of a function which is linear as it stands, such as a solver
uses: no pass of a derivative.
"""

from __future__ import annotations

from collections.abc import Sequence

from jaxscope.model import Phase

Passes = tuple[Phase, ...]
"""Outermost first: `transpose(jvp(jvp()))` is backward, then forward."""

_REMATERIALIZED = "rematted_computation"


def passes(scopes: Sequence[tuple[str, str]]) -> Passes:
    """The passes in a name stack of `(kind, name)`, kind being `Transform` or `Scope`.

    A user's own `jax.named_scope("jvp")` is a scope, so it is none.
    """
    found: list[Phase] = []
    transposed = False
    for kind, name in scopes:
        if kind != "Transform":
            if name == _REMATERIALIZED:
                found.append(Phase.RECOMPUTE)
            continue
        if name == "transpose":
            transposed = True
        elif name == "jvp":
            found.append(Phase.BACKWARD if transposed else Phase.FORWARD)
            transposed = False
    return tuple(found)


def phase(passes: Passes) -> Phase:
    """The one word for an equation: what is inside a backward pass is backward, at any order."""
    if Phase.BACKWARD not in passes:
        return Phase.FORWARD if Phase.FORWARD in passes else Phase.PRIMAL
    inside = passes[passes.index(Phase.BACKWARD) :]
    return Phase.RECOMPUTE if Phase.RECOMPUTE in inside else Phase.BACKWARD


def levels(passes: Passes) -> Passes:
    """Forward or backward, by derivative, the outermost first."""
    return tuple([one for one in passes if one is not Phase.RECOMPUTE])


def kept_for(producer: Passes, consumer: Passes) -> tuple[int, bool] | None:
    """Of which derivative a value is a residual, when it is made and used in these passes.

    The number of the derivative, 0 the outermost, whose backward pass holds the consumer and not
    the producer; and whether the producer is in the forward pass of that derivative. If it is
    not, the value came from outside: it is a residual only if that forward pass reads it as well,
    else it is what the backward pass starts from. None when no pass lies between the two.
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
