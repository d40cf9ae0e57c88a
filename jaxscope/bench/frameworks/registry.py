"""The contestants there are: our own, and those that installed packages bring."""

from __future__ import annotations

import difflib
import importlib
from importlib.metadata import entry_points

from jaxscope.bench.frameworks.implementation import Contestant

GROUP = "jaxscope.contestants"
"""Entry points of this group name subclasses of `Contestant`."""

_OWN = {
    "numpy": "numpy:NumPy",
    "jax": "jax:Jit",
    "jax-eager": "jax:Eager",
    "torch": "torch:Torch",
    "torch-compile": "torch:Compiled",
    "torchscript": "torch:Script",
    "torch-func": "torch:Func",
    "c": "c:C",
}

ALWAYS = ("numpy", "jax", "jax-eager", "torch")
"""Compared when nobody says with whom; an absent one becomes a row with the reason."""


class Absent(Contestant):
    """Stands for a contestant that could not be had."""

    def __init__(self, name: str, reason: str) -> None:
        self.name = name
        self._reason = reason

    def missing(self) -> str:
        return self._reason


def names() -> tuple[str, ...]:
    """Every registered name, our own first."""
    brought = sorted(point.name for point in entry_points(group=GROUP))
    return (*_OWN, *[name for name in brought if name not in _OWN])


def find(name: str) -> Contestant:
    """The contestant of this name; one that says why it is missing when there is none."""
    own = _OWN.get(name)
    if own is not None:
        module, _, cls = own.partition(":")
        return getattr(importlib.import_module(f"jaxscope.bench.frameworks.{module}"), cls)()
    return _brought(name)


def _brought(name: str) -> Contestant:
    for point in entry_points(group=GROUP):
        if point.name != name:
            continue
        try:
            made = point.load()()
        except Exception as error:
            why = f"The plug-in `{point.value}` failed: {type(error).__name__}: {error}."
            return Absent(name, why)
        if not isinstance(made, Contestant):
            why = f"The plug-in `{point.value}` is no subclass of jaxscope.bench.Contestant."
            return Absent(name, why)
        return made
    return Absent(name, _unknown(name))


def _unknown(name: str) -> str:
    known = names()
    close = difflib.get_close_matches(name, known, 1)
    meant = f" Did you mean `{close[0]}`?" if close else ""
    return f"There is no contestant `{name}`.{meant} There are: {', '.join(known)}."
