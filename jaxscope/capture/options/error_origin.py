"""Whose fault an error is: the user's and JAX's reach the user, jaxscope's own must not."""

from __future__ import annotations

import os
import traceback

from jaxscope.capture.options.refusals import RefusedError
from jaxscope.capture.options.settings import SettingsError
from jaxscope.version import HOME

_HOME = HOME

# What jaxscope says on purpose, and what the user's text or machine is to blame for.
_MEANT = (RefusedError, SettingsError, SyntaxError, MemoryError)

# The functions that hand over to the user's code, or to JAX with the user's program.
_GATES = frozenset(
    [
        ("base.py", "__call__"),
        ("call.py", "program"),
        ("cell.py", "_run"),
        ("decorated.py", "_executed"),
        ("derivatives.py", "_derivative"),
        ("program.py", "capture"),
        ("program.py", "finished"),
        ("program.py", "opened"),
        ("timing.py", "_timed"),
        ("transforms.py", "program"),
    ]
)


def is_ours(error: BaseException, file: str) -> bool:
    """Whether jaxscope itself failed, and neither the user's code nor JAX on the user's program.

    `file` is the cell's. An error that passed through the cell is the user's; so is one from below
    a place where jaxscope hands over to JAX or to the user's code. All others are ours.
    """
    if not isinstance(error, Exception) or isinstance(error, _MEANT):
        return False
    frames = [frame.f_code for frame, _ in traceback.walk_tb(error.__traceback__)]
    if any(code.co_filename == file for code in frames):
        return False
    ours = [i for i, code in enumerate(frames) if code.co_filename.startswith(_HOME)]
    if not ours:
        return False
    last = frames[ours[-1]]
    handed_over = ours[-1] < len(frames) - 1
    return not (handed_over and (os.path.basename(last.co_filename), last.co_name) in _GATES)


def reason(error: BaseException) -> str:
    """The error in a few words, for a line that says what was left out."""
    text = str(error).strip().partition("\n")[0]
    text = text if len(text) <= 160 else text[:159] + "…"
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
