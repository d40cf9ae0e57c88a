"""Conversions of tracers that the user's code tried and then caught.

`try: float(x) except TypeError: ...` takes one way in plain Python and the other while tracing,
with no error to tell. So the errors are noted when they are made, and a trace that ends well
although the user's own code met one is refused.
"""

from __future__ import annotations

import inspect
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import jax

from jaxscope.capture._jax import jax_directory
from jaxscope.capture.frames import is_user_file


@contextmanager
def noted(file: str) -> Generator[list[int | None]]:
    """The cell lines whose code, or the user's helpers they call, met such an error."""
    lines: list[int | None] = []
    originals = [(kind, kind.__init__) for kind in _ERRORS if "__init__" in vars(kind)]

    def patched(original: Any) -> Any:
        def init(self: Any, *args: Any, **kwargs: Any) -> None:
            original(self, *args, **kwargs)
            found = _line_of_user(file)
            if found is not False:
                lines.append(found)

        return init

    for kind, original in originals:
        setattr(kind, _INIT, patched(original))
    try:
        yield lines
    finally:
        for kind, original in originals:
            setattr(kind, _INIT, original)


_INIT = "__init__"
_ERRORS: tuple[Any, ...] = (
    jax.errors.ConcretizationTypeError,
    jax.errors.TracerArrayConversionError,
    jax.errors.TracerIntegerConversionError,
    jax.errors.TracerBoolConversionError,
    jax.errors.NonConcreteBooleanIndexError,
)


def _line_of_user(file: str) -> int | bool | None:
    """The line of the cell, None for a helper outside it; False when a library asked."""
    frame = inspect.currentframe()
    home = jax_directory()
    while frame is not None and (
        frame.f_code.co_filename.startswith(home) or frame.f_code.co_filename == __file__
    ):
        frame = frame.f_back
    if frame is None or not (
        frame.f_code.co_filename == file or is_user_file(frame.f_code.co_filename)
    ):
        return False
    while frame is not None and frame.f_code.co_filename != file:
        frame = frame.f_back
    return None if frame is None else frame.f_lineno
