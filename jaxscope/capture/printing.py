"""The jaxpr's text, each line with its equations."""

from __future__ import annotations

from typing import Any

from jaxscope.capture import _jax
from jaxscope.capture.bodies import is_opaque, open_jaxpr
from jaxscope.capture.tags import Tagged
from jaxscope.model import Anchor


def print_jaxpr(tagged: Tagged) -> tuple[str, tuple[Anchor, ...]]:
    """The text as JAX prints it, and anchors; links to a jaxpr's own text are always exact.

    A jaxpr that is used several times is printed once, so its lines have the equations of each use.
    """
    marked = _Marked()
    text, lines = _jax.print_jaxpr(open_jaxpr(marked.copy(tagged.jaxpr)))
    anchors: list[Anchor] = []
    for number, marks in enumerate(lines, 1):
        # The innermost equation of a line is marked last.
        ids = [
            equation
            for mark in sorted(marks, reverse=True)
            for equation in tagged.places.get(marked.places[mark], ())
        ]
        if ids:
            anchors.append(Anchor(number, tuple(dict.fromkeys(ids))))
    return text, tuple(anchors)


class _Marked:
    """Copies jaxprs with a mark in each equation; what is shared in the one is in the other."""

    def __init__(self) -> None:
        self.places: list[tuple[int, int]] = []
        """By mark: the identity of the jaxpr and the index in it."""
        self._copies: dict[int, Any] = {}

    def copy(self, jaxpr: Any) -> Any:
        copied = self._copies.get(id(jaxpr))
        if copied is None:
            inner = open_jaxpr(jaxpr)
            if inner is not jaxpr:
                copied = jaxpr.replace(jaxpr=self.copy(inner))
            else:
                copied = jaxpr.replace(
                    eqns=[self._equation(jaxpr, i, e) for i, e in enumerate(jaxpr.eqns)]
                )
            self._copies[id(jaxpr)] = copied
        return copied

    def _equation(self, jaxpr: Any, index: int, equation: Any) -> Any:
        mark = _jax.Mark(len(self.places))
        self.places.append((id(jaxpr), index))
        params = equation.params
        if not is_opaque(equation.primitive.name):
            params = {name: self._value(value) for name, value in params.items()}
        return _jax.with_mark(equation, mark, params)

    def _value(self, value: Any) -> Any:
        if hasattr(value, "eqns"):
            return self.copy(value)
        if isinstance(value, (tuple, list)):
            items: list[Any] = [self._value(item) for item in value]
            if all(new is old for new, old in zip(items, value, strict=True)):
                return value
            kind: Any = type(value)
            return kind(*items) if hasattr(kind, "_fields") else kind(items)
        return value
