"""The jaxpr's text, each line with its equations."""

from __future__ import annotations

from typing import Any

from jaxscope.capture import _jax
from jaxscope.capture.jaxpr.reader import is_opaque, open_jaxpr
from jaxscope.capture.jaxpr.tags import Tagged
from jaxscope.model import Anchor


def print_jaxpr(tagged: Tagged) -> tuple[str, tuple[Anchor, ...]]:
    """The text as JAX prints it, and anchors; links to a jaxpr's own text are always exact.

    A jaxpr that is used several times is printed once, so its lines have the equations of each use.
    """
    marked = _Marked()
    text, lines = _jax.print_jaxpr(open_jaxpr(marked.copy(tagged.jaxpr)))
    if len(lines) != text.count("\n") + 1:
        # A parameter's own text breaks the line where the printer does not know of it, which
        # shifts all further line numbers.
        marked = _Marked(one_line=True)
        text, lines = _jax.print_jaxpr(open_jaxpr(marked.copy(tagged.jaxpr)))
        if len(lines) != text.count("\n") + 1:
            return text, ()
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

    def __init__(self, *, one_line: bool = False) -> None:
        self._one_line = one_line
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
        mark = _jax.FrameMark(len(self.places))
        self.places.append((id(jaxpr), index))
        params = equation.params
        if not is_opaque(equation.primitive.name):
            params = {name: self._value(value) for name, value in params.items()}
        if self._one_line:
            params = {name: _one_line(value) for name, value in params.items()}
        return _jax.with_mark(equation, mark, params)

    def _value(self, value: Any) -> Any:
        if hasattr(value, "eqns"):
            return self.copy(value)
        if isinstance(value, (tuple, list)):
            items: list[Any] = [self._value(item) for item in value]
            if hasattr(type(value), "_fields") and any(hasattr(i, "eqns") for i in items):
                # As a plain tuple, jaxprs are printed equation by equation.
                return tuple([item for item in items if item is not None])
            if all(new is old for new, old in zip(items, value, strict=True)):
                return value
            kind: Any = type(value)
            return kind(*items) if hasattr(kind, "_fields") else kind(items)
        return value


class _OneLine:
    """A value that prints on one line."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


def _one_line(value: Any) -> Any:
    # JAX's own printing rules need more of functions and jaxprs than their text.
    if isinstance(value, (int, float, type(None))) or callable(value) or hasattr(value, "eqns"):
        return value
    if isinstance(value, tuple) and any(hasattr(item, "eqns") for item in value):
        return value
    text = str(value)
    if "\n" not in text:
        return value
    return _OneLine(text.replace("\n", "\\n") if isinstance(value, str) else " ".join(text.split()))
