"""The way to the time of a profiled cell without its compilations."""

from __future__ import annotations

from collections.abc import Sequence

from jaxscope.model.compiles import CauseKind, Compile

_ANEW = frozenset({CauseKind.NEW_FUNCTION, CauseKind.FUNCTION_COLLECTED, CauseKind.EAGER_BODY})
"""The code that ran made a function for the call, so the next run makes one, too."""


def warm_time(compiles: Sequence[Compile]) -> str:
    """`run the cell again for its warm time`, or the reason that this would compile again.

    Empty where most of the compilation is of functions that are made for each call.
    """
    half = 0.5 * sum(one.total_s for one in compiles)
    own = [one for one in compiles if one.defined is not None and one.defined.source == 0]
    anew = [one for one in compiles if any(cause.kind in _ANEW for cause in one.causes)]
    if own and sum(one.total_s for one in own) >= half:
        names = list(dict.fromkeys(f"`{one.fun_name}`" for one in own))
        which = names[0] if len(names) == 1 else f"{len(names)} functions"
        return f"each run compiles {which} again, because the cell defines {_it(names)}"
    if anew and sum(one.total_s for one in anew) >= half:
        return ""
    return "run the cell again for its warm time"


def _it(names: Sequence[str]) -> str:
    return "it" if len(names) == 1 else "them"
