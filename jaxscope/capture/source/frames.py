"""Stack frames of the user's own code."""

from __future__ import annotations

import functools
import gc
import glob
import importlib.util
import itertools
import linecache
import os
import sys
import sysconfig
import types
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from jaxscope.model.source import Frame, Source, Span
from jaxscope.version import HOME

CALL_FILE = "<call>"
"""File name of the text of a line form, which is its line 1."""
_FRONT_ENDS = tuple(f"{os.sep}{name}{os.sep}" for name in ("IPython", "ipykernel"))
Position = tuple[int | None, int | None, int | None, int | None]
_INSTALLED = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")
_GENERATED = ("<frozen ", "<__array_function__", "<attrs generated", "<decorator-gen", "<unknown>")


def frame_of(thread: int) -> types.FrameType | None:
    """The innermost frame that a thread executes; None for a thread that has ended.

    Without the collector: early releases of Python 3.11 and 3.12 hold a lock of the interpreter
    here, for which a thread-local value that is collected waits forever (python/cpython#106883).
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        return sys._current_frames().get(thread)  # pyright: ignore[reportPrivateUsage]
    finally:
        if enabled:
            gc.enable()


@dataclass(frozen=True, slots=True)
class RawFrame:
    """A location from Python: lines from 1, columns in UTF-8 bytes or None where unknown.

    Kept raw because it is taken while JAX compiles; `locate` reads the source text, later.
    """

    file: str
    function: str
    line: int
    end_line: int
    column: int | None
    end_column: int | None

    def locate(self, sources: Sequence[Source] = ()) -> Frame:
        """The frame with columns in characters, and its place in `sources` if it is one of them."""
        index = next((i for i, source in enumerate(sources) if source.file == self.file), None)
        lines = sources[index].lines if index is not None else None
        start = _characters(self._text(lines, self.line), self.column)
        end = _characters(self._text(lines, self.end_line), self.end_column)
        return Frame(index, self.file, self.function, Span(self.line, start, self.end_line, end))

    def _text(self, lines: tuple[str, ...] | None, line: int) -> str:
        if lines is None:
            return linecache.getline(self.file, line)
        return lines[line - 1] if 0 < line <= len(lines) else ""


def _characters(text: str, column: int | None) -> int:
    if column is None:
        return 0
    return len(text.encode()[:column].decode(errors="ignore")) if text else column


def located(frames: Iterable[RawFrame], sources: Sequence[Source]) -> tuple[Frame, ...]:
    """The frames with their places in `sources`; see `RawFrame.locate`."""
    return tuple([one.locate(sources) for one in frames])


def user_frames(
    frame: types.FrameType | None, limit: int = 8, *, of_magic: bool = False
) -> tuple[RawFrame, ...]:
    """The user's frames from `frame` outwards, innermost first, at most `limit`.

    Stops at IPython: frames outside of it are not the user's cell, but the cell of a line magic.
    That cell stands for the text of a line form, which is in no file.
    """
    found: list[RawFrame] = []
    while frame is not None and len(found) < limit:
        file = frame.f_code.co_filename
        if file == CALL_FILE:
            of_magic = True
        elif is_user_file(file):
            found.append(_raw(frame))
            of_magic = False
        elif _is_front_end(file) and not of_magic:
            break
        frame = frame.f_back
    return tuple(found)


def _raw(frame: types.FrameType) -> RawFrame:
    code = frame.f_code
    line, end_line, column, end_column = position(code, frame.f_lasti)
    line = line or frame.f_lineno or code.co_firstlineno
    return RawFrame(code.co_filename, code.co_name, line, end_line or line, column, end_column)


@functools.lru_cache(maxsize=256)  # a loop compiles at one place, and a long cell is slow to read
def position(code: types.CodeType, instruction: int) -> Position:
    """`(line, end line, column, end column)` at an `f_lasti`; each None where it is unknown."""
    # One entry of co_positions per two-byte code unit, f_lasti counts bytes.
    found = next(itertools.islice(code.co_positions(), instruction // 2, None), None)
    return found or (None, None, None, None)


@functools.lru_cache(maxsize=4096)
def is_user_file(file: str) -> bool:
    """Whether a code object of this file name is the user's: no library, JAX or jaxscope itself."""
    return not file.startswith((*_GENERATED, *_libraries())) and not is_installed(file)


@functools.lru_cache(maxsize=4096)
def is_installed(file: str) -> bool:
    """Whether a file is an installed package's: of this environment, the one below, the home, or a
    folder of `sys.path` that `pip install --target` filled."""
    if any(folder in file for folder in _INSTALLED):
        return True
    path = os.path.normpath(file)
    return any(
        path.startswith(os.path.join(os.path.abspath(folder), "")) and _holds_packages(folder)
        for folder in map(str, sys.path)
        if folder  # the current folder, which is empty there, is the user's
    )


def _holds_packages(folder: str) -> bool:
    """Whether packages were installed into it: an editable one has its `*.dist-info` elsewhere."""
    return bool(glob.glob(os.path.join(glob.escape(folder), "*.dist-info")))


@functools.lru_cache(maxsize=4096)
def _is_front_end(file: str) -> bool:
    return any(name in file for name in _FRONT_ENDS)


@functools.cache
def _libraries() -> tuple[str, ...]:
    paths = sysconfig.get_paths()
    homes = {paths["stdlib"], paths["platstdlib"], HOME.rstrip(os.sep)}
    for name in ("jax", "jaxlib"):  # installed from a checkout, they are outside site-packages
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.origin:
            homes.add(os.path.dirname(spec.origin))
    return tuple(sorted(home + os.sep for home in homes))
