"""The lines of the user's code that made the equations of a jaxpr."""

from __future__ import annotations

import math
import types
from typing import Any

from jaxscope.analysis.compiles.compile_time import EquationGroup, Line
from jaxscope.capture import _jax
from jaxscope.capture.source.frames import is_user_file, position

_Positions = tuple[tuple[types.CodeType, int], ...]
_DEEPEST = 8
"""Frames of a stack that are kept."""
_LARGEST = 1 << 40
_PLAIN = (bool, int, float, str, tuple)


class _Group:
    def __init__(self) -> None:
        self.count = 0
        self.forms: list[object] = []
        """Shapes and plain parameters of the first equation, and one that differs."""
        self.constant = 0


def equation_groups(jaxpr: Any) -> tuple[EquationGroup, ...]:
    """The equations of a jaxpr at all depths, each jaxpr object once, by position and primitive."""
    found: dict[tuple[_Positions, str], _Group] = {}
    stacks: dict[Any, _Positions] = {}
    seen: set[int] = set()
    waiting: list[tuple[Any, _Positions]] = [(jaxpr, ())]
    while waiting:
        outer, around = waiting.pop()
        inner = getattr(outer, "jaxpr", outer)
        if id(inner) in seen:
            continue
        seen.add(id(inner))
        varying = {id(v) for v in inner.invars}
        for equation in inner.eqns:
            reads = [v for v in equation.invars if id(v) in varying]
            if reads:
                varying.update(id(v) for v in equation.outvars)
            own = _positions(equation, stacks)
            stack = own or around
            group = found.setdefault((stack, equation.primitive.name), _Group())
            group.count += 1
            if len(group.forms) < 2 and (form := _form(equation)) not in group.forms:
                group.forms.append(form)
            if not reads and not around:
                group.constant += sum(map(_elements, equation.outvars))
            for value in equation.params.values():
                waiting += [(body, stack) for body, _ in _jax.bodies(value)]
    return tuple(
        EquationGroup(
            tuple([_line(code, at) for code, at in stack]),
            group.count,
            len(group.forms) == 1,
            min(group.constant, _LARGEST),
        )
        for (stack, _), group in found.items()
    )


def _form(equation: Any) -> tuple[Any, ...]:
    shapes = [str(v.aval) for v in (*equation.invars, *equation.outvars)]
    plain = [one for one in equation.params.items() if isinstance(one[1], _PLAIN)]
    return tuple(shapes), tuple(plain)


def _elements(variable: Any) -> int:
    shape = getattr(getattr(variable, "aval", None), "shape", ())
    try:
        return math.prod(shape)
    except TypeError:
        return 0


def _positions(equation: Any, known: dict[Any, _Positions]) -> _Positions:
    """The user's part of an equation's stack, innermost first."""
    traceback = _jax.traceback_of(equation)
    if traceback is None:
        return ()
    if traceback not in known:
        codes, offsets = _jax.code_positions(traceback)
        mine: list[tuple[types.CodeType, int]] = []
        for code, offset in zip(codes, offsets, strict=False):
            if mine and _jax.begins_trace(code):
                break
            if is_user_file(code.co_filename):
                mine.append((code, offset))
                if len(mine) == _DEEPEST:
                    break
        known[traceback] = tuple(mine)
    return known[traceback]


def _line(code: types.CodeType, offset: int) -> Line:
    return code.co_filename, position(code, offset)[0] or code.co_firstlineno
