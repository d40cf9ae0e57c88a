"""The registered implementations: jaxscope's own and those of plug-ins, found in the same way."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from importlib.metadata import EntryPoint, entry_points

from jaxscope.bench.frameworks.implementation import Implementation
from jaxscope.bench.plan import PlanError

GROUP = "jaxscope.implementations"
"""Entry points of this group name subclasses of `Implementation`; jaxscope's own are declared in
its `pyproject.toml`."""

DEFAULT = ("numpy", "jax", "jax-eager", "torch")
"""Compared unless others are named. One that is not installed gets a row with the reason."""

NOT_REGISTERED = (
    "jaxscope's own implementations are not registered, because its installed metadata is missing "
    "or older than its code. Run `pip install -e .` in its source folder, or reinstall it."
)


class Absent(Implementation):
    """Placeholder for an implementation that cannot be loaded."""

    def __init__(self, name: str, reason: str) -> None:
        self.name = name
        self._reason = reason

    def missing(self) -> str:
        return self._reason


def names() -> tuple[str, ...]:
    """Every registered name, jaxscope's own first.

    Raises PlanError where these are not registered: a source folder that was never installed.
    """
    found = points()
    if DEFAULT[0] not in found:
        raise PlanError(NOT_REGISTERED)
    return tuple(found)


def find(name: str, registered: Mapping[str, EntryPoint] | None = None) -> Implementation:
    """The implementation of this name; an `Absent` one with the reason if there is none.

    registered: `points()` of an earlier call, which reads the metadata of every installed package.
    """
    found = points() if registered is None else registered
    point = found.get(name)
    if point is None:
        if DEFAULT[0] not in found:
            return Absent(name, NOT_REGISTERED)
        close = difflib.get_close_matches(name, found, 1)
        meant = f" Did you mean `{close[0]}`?" if close else ""
        why = f"There is no implementation `{name}`.{meant} There are: {', '.join(found)}."
        return Absent(name, why)
    try:
        made = point.load()()
    except Exception as error:
        why = f"The plug-in `{point.value}` failed: {type(error).__name__}: {error}."
        return Absent(name, why)
    if not isinstance(made, Implementation):
        why = f"The plug-in `{point.value}` is not a subclass of jaxscope.bench.Implementation."
        return Absent(name, why)
    return made


def uses_jax(implementations: Iterable[str]) -> bool:
    """Whether any of these runs on JAX, so that its settings apply."""
    return any(find(name).framework == "jax" for name in implementations)


def points() -> dict[str, EntryPoint]:
    """Entry points by name: the default ones, jaxscope's others, then those of plug-ins."""

    def rank(point: EntryPoint) -> tuple[bool, int, str]:
        default = DEFAULT.index(point.name) if point.name in DEFAULT else len(DEFAULT)
        return not point.value.startswith("jaxscope."), default, point.name

    found: dict[str, EntryPoint] = {}
    for point in sorted(entry_points(group=GROUP), key=rank):
        found.setdefault(point.name, point)
    return found
