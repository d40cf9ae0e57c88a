"""NumPy arrays that traced code changes by an operator or method that a tracer answers with a copy.

`w -= g` and `w.sort()` change a NumPy array, and so does `row += 1` for a row of it. For the tracer
in its place, Python binds a new value, and whoever holds the array would not see the change.
"""

from __future__ import annotations

import dis
import inspect
import types
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from jax.core import Tracer

from jaxscope.capture.source.frames import is_user_file

OPERATORS = {
    "__iadd__": "+=", "__isub__": "-=", "__imul__": "*=", "__itruediv__": "/=",
    "__ifloordiv__": "//=", "__imod__": "%=", "__ipow__": "**=", "__imatmul__": "@=",
    "__iand__": "&=", "__ior__": "|=", "__ixor__": "^=", "__ilshift__": "<<=",
    "__irshift__": ">>=",
}  # fmt: skip
"""By method: the operator that changes a NumPy array."""
_MISSING = object()


class ArrayWrite(NamedTuple):
    """A change of a NumPy array that a tracer stands for."""

    value: np.ndarray
    how: str
    """`-=` or `sort`."""
    line: int | None
    """Of the cell; None in a helper outside it."""


@contextmanager
def writes_noted(
    original_of: Callable[[Any], Any], path_of: Callable[[Any], str], file: str
) -> Generator[list[ArrayWrite]]:
    """Collect the changes that the user's code makes; `file` is the cell's.

    `original_of` returns the value that a tracer replaces, and `path_of` its path. A statement of
    the cell's own that binds the only name of an array is none: both names see the new value.
    """
    found: list[ArrayWrite] = []
    rows: dict[int, tuple[Any, np.ndarray]] = {}
    """Tracers that stand for a part of an array, by identity."""

    def array_of(value: Any) -> np.ndarray | None:
        whole = original_of(value) if id(value) not in rows else rows[id(value)][1]
        return whole if isinstance(whole, np.ndarray) else None

    def note(tracer: Any, how: str) -> None:
        frame, array = _users_frame(file), array_of(tracer)
        if array is None or frame is None:
            return
        own = id(tracer) not in rows and path_of(array)
        if not (own and frame.f_code.co_filename == file and _rebinds(frame, own, tracer)):
            found.append(ArrayWrite(array, how, _line(frame, file)))

    def operator(how: str) -> Any:
        def changed(self: Any, other: Any) -> Any:
            note(self, how)
            return NotImplemented  # Python goes on with `self + other`

        return changed

    def part(original: Any) -> Any:
        def item(self: Any, index: Any) -> Any:
            made = original(self, index)
            if (array := array_of(self)) is not None and _is_basic(index) and np.ndim(made):
                rows[id(made)] = made, array
            return made

        return item

    def parts(original: Any) -> Any:
        def items(self: Any) -> Iterator[Any]:
            found = original(self)  # raises at once where there is nothing to iterate over
            array = array_of(self)
            return found if array is None or np.ndim(self) < 2 else of_array(found, array)

        return items

    def of_array(found: Iterator[Any], array: np.ndarray) -> Iterator[Any]:
        for made in found:
            rows[id(made)] = made, array
            yield made

    def method(original: Any) -> Any:
        def sort(self: Any, *args: Any, **options: Any) -> Any:
            note(self, "sort")
            return original(self, *args, **options)

        return sort

    hooks = {name: operator(how) for name, how in OPERATORS.items()}
    for name, make in (("__getitem__", part), ("__iter__", parts), ("sort", method)):
        if (original := getattr(Tracer, name, None)) is not None:
            hooks[name] = make(original)
    before = {name: vars(Tracer).get(name, _MISSING) for name in hooks}
    for name, hook in hooks.items():
        setattr(Tracer, name, hook)
    try:
        yield found
    finally:
        for name, original in before.items():
            if original is _MISSING:
                delattr(Tracer, name)
            else:
                setattr(Tracer, name, original)
        rows.clear()


def _users_frame(file: str) -> types.FrameType | None:
    """The frame of the operator, where it is the user's code."""
    frame = inspect.currentframe()
    while frame is not None and frame.f_code.co_filename == __file__:
        frame = frame.f_back
    known = frame is not None and (
        frame.f_code.co_filename == file or is_user_file(frame.f_code.co_filename)
    )
    return frame if known else None


def _rebinds(frame: types.FrameType, name: str, tracer: Any) -> bool:
    """Whether the statement binds that global name, and no other name has the tracer."""
    if frame.f_code.co_name != "<module>":
        return False
    following = iter(dis.get_instructions(frame.f_code))
    found = any(one.offset == frame.f_lasti for one in following)
    store = next(following, None) if found else None
    if store is None or store.opname not in ("STORE_NAME", "STORE_GLOBAL") or store.argval != name:
        return False
    return not any(held is tracer for key, held in frame.f_globals.items() if key != name)


def _line(frame: types.FrameType | None, file: str) -> int | None:
    while frame is not None and frame.f_code.co_filename != file:
        frame = frame.f_back
    return None if frame is None else frame.f_lineno


def _is_basic(index: Any) -> bool:
    """Whether NumPy gives a view for that index, and no copy."""
    parts = index if isinstance(index, tuple) else (index,)
    return all(
        part is None or part is Ellipsis or isinstance(part, (int, np.integer, slice))
        for part in parts
    )
