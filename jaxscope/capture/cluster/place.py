"""The user's line on this process, named as the notebook names it."""

from __future__ import annotations

import linecache
import os
import threading
import types

from jaxscope.capture.source.cell_names import cell_name, current_shell, running_number
from jaxscope.capture.source.frames import user_frames
from jaxscope.model.cluster import CodePlace


def place_of(frame: types.FrameType | None) -> CodePlace:
    """The innermost line of the user's code in this stack; empty when there is none."""
    for found in user_frames(frame, 1):
        name = cell_name(found.file) or os.path.basename(found.file)
        text = linecache.getline(found.file, found.line).strip()
        return CodePlace(f"{name}:{found.line}", text[:120])
    return CodePlace("")


def user_thread() -> int:
    """The thread of the user's code: the main thread, unless the shell names a different one."""
    return getattr(current_shell(), "cell_thread", 0) or threading.main_thread().ident or 0


def running_cell() -> CodePlace:
    """The running cell as a whole; empty outside IPython."""
    shell = current_shell()
    return CodePlace("" if shell is None else f"In [{running_number(shell)}]")
