"""A cell's plan that can be sent to another process: as its text, and made anew over there.

Functions made from a cell share a namespace that changes from size to size; copies of them would
not, and the user's whole namespace cannot travel. The text and the names that it reads can.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jaxscope.bench.cell.request import Request
from jaxscope.bench.plan import Limits, Plan


@dataclass(frozen=True, slots=True)
class Recipe:
    """What `cell_plan` or `expression_plan` was called with."""

    code: str | Sequence[tuple[str, str, str]]
    """The cell's text, or the expressions."""
    request: Request
    namespace: Mapping[str, Any]
    """The user's names that the code reads."""
    known: Sequence[str] = ()
    default: Sequence[str] = ()
    file: str = ""


@dataclass(frozen=True, slots=True)
class CellPlan(Plan):
    """A plan with its recipe."""

    recipe: Recipe | None = None

    def __reduce__(self) -> Any:
        return rebuilt, (self.recipe, self.sessions, self.seed, self.limits, self.title)


def rebuilt(recipe: Recipe, sessions: int, seed: int, limits: Limits, title: str) -> Plan:
    """The plan, made anew by its recipe; `seed` orders the rounds, the inputs keep their own."""
    from jaxscope.bench.cell.prepared import cell_plan, expression_plan

    if isinstance(recipe.code, str):
        prepared = cell_plan(
            recipe.code,
            recipe.request,
            recipe.namespace,
            recipe.known,
            recipe.default,
            file=recipe.file,
        )
    else:
        prepared = expression_plan(recipe.code, recipe.request, recipe.namespace)
    return dataclasses.replace(
        prepared.plan, sessions=sessions, seed=seed, limits=limits, title=title
    )
