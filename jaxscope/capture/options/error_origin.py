"""Decide whether an exception is the user's, JAX's or ours. Only the first two propagate."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from types import CodeType, TracebackType
from typing import Any, TypeVar

from jaxscope import words
from jaxscope.capture.options.divergence import Divergence
from jaxscope.capture.options.refusals import RefusedError
from jaxscope.capture.options.settings import SettingsError
from jaxscope.version import HOME

# Errors that jaxscope raises on purpose, and those of the user's text or machine.
_MEANT = (Divergence, RefusedError, SettingsError, SyntaxError, MemoryError)

_CALLERS: set[CodeType] = set()
"""Code of the functions that call the user's code, or JAX on the user's program."""

F = TypeVar("F", bound=Callable[..., Any])


def calls_user_code(function: F) -> F:
    """Mark a function that calls the user's code, or JAX on the user's program.

    An exception raised below it is the user's or JAX's, not jaxscope's.
    """
    _CALLERS.add(function.__code__)
    return function


def is_ours(error: BaseException, file: str) -> bool:
    """Whether jaxscope itself failed, and neither the user's code nor JAX on the user's program.

    `file` is the cell's. An error that passed through the cell is the user's; so is one from below
    a function that calls JAX or the user's code. All others are ours.
    """
    if not isinstance(error, Exception) or isinstance(error, _MEANT):
        return False
    frames = [frame.f_code for frame, _ in traceback.walk_tb(error.__traceback__)]
    if any(code.co_filename == file for code in frames):
        return False
    ours = [i for i, code in enumerate(frames) if code.co_filename.startswith(HOME)]
    if not ours:
        return False
    last = frames[ours[-1]]
    raised_below = ours[-1] < len(frames) - 1
    return not (raised_below and last in _CALLERS)


def without_ours(entry: TracebackType | None) -> TracebackType | None:
    """A traceback without the frames of jaxscope."""
    while entry is not None and _is_our_frame(entry):
        entry = entry.tb_next
    first = entry
    while entry is not None:
        below = entry.tb_next
        while below is not None and _is_our_frame(below):
            below = below.tb_next
        entry.tb_next = entry = below
    return first


def _is_our_frame(entry: TracebackType) -> bool:
    return entry.tb_frame.f_code.co_filename.startswith(HOME)


def code_has_run(error: BaseException) -> bool:
    """Whether the user's code was running, or had run, when the error was raised."""
    return getattr(error, _HAS_RUN, False)


def note_that_code_has_run(error: BaseException) -> None:
    """Remember it, so that a second run is not kept silent about."""
    setattr(error, _HAS_RUN, True)


_HAS_RUN = "_jaxscope_code_has_run"


def reason(error: BaseException) -> str:
    """The error in a few words, for a one-line failure."""
    text = words.cut(str(error).strip().partition("\n")[0], 160)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
