"""Record side effects of tracing: caught conversion errors, `print`, files opened for writing.

`try: float(x) except TypeError: ...` takes one branch in plain Python and the other while tracing,
without an error. So the errors are recorded when they are created, and a trace in which the user's
own code caught one is refused.
"""

from __future__ import annotations

import builtins
import dis
import inspect
import linecache
import reprlib
import sys
import threading
import traceback
import types
from collections.abc import Callable, Generator, MutableMapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, Self

import jax
import numpy as np
from jax.core import Tracer

from jaxscope import words
from jaxscope.analysis.findings import ObservedSideEffect
from jaxscope.analysis.python.shown_text import is_shown
from jaxscope.capture._jax import jax_directory
from jaxscope.capture.options.refusals import IN_THREAD
from jaxscope.capture.source.frames import is_user_file, position


@contextmanager
def noted(file: str) -> Generator[list[int | None]]:
    """Collect the cell lines whose code, or whose helpers, got such an error."""
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


@contextmanager
def thread_errors_noted(file: str, lines: list[int | None]) -> Generator[None]:
    """Add the line of the cell for each thread that fails because it uses a tracer.

    The sentence on it is printed at once: the cell may wait for what the thread does not give.
    """
    original = threading.excepthook

    def hook(failed: Any) -> None:
        if not isinstance(failed.exc_value, jax.errors.UnexpectedTracerError):
            original(failed)
            return
        entries = traceback.extract_tb(failed.exc_traceback)
        lines.append(next((one.lineno for one in entries[::-1] if one.filename == file), None))
        print(f"jaxscope: {IN_THREAD}", file=sys.stderr)  # noqa: T201

    threading.excepthook = hook
    try:
        yield
    finally:
        if threading.excepthook is hook:
            threading.excepthook = original


@contextmanager
def imports_run_eagerly() -> Generator[None]:
    """Modules imported inside this block compute their top level as they always do.

    A module is kept for the rest of the process: a tracer in it could never be replaced.
    """
    original = builtins.__import__

    def imported(name: str, *args: Any, **options: Any) -> Any:
        if name in sys.modules and not (len(args) > 2 and args[2]):
            return original(name, *args, **options)
        with jax.ensure_compile_time_eval():
            return original(name, *args, **options)

    builtins.__import__ = imported
    try:
        yield
    finally:
        if builtins.__import__ is imported:
            builtins.__import__ = original


class TextAsked(NamedTuple):
    """A use of a tracer's text by the user's code, which is not the value's text."""

    line: int | None
    """Of the cell."""
    shown: bool
    """Whether the text is only printed, logged, or part of an error's message."""


@contextmanager
def texts_noted(file: str) -> Generator[list[TextAsked]]:
    """Collect the uses of a tracer's text by the user's code; `file` is the cell's."""
    found: list[TextAsked] = []
    originals = [(name, vars(Tracer)[name]) for name in _TEXTS if name in vars(Tracer)]

    def patched(original: Any) -> Any:
        def text(self: Any, *args: Any) -> Any:
            if len(found) < MOST_NOTES and (caller := _asking_frame()) is not None:
                own = file if is_user_file(file) else caller.f_code.co_filename
                found.append(TextAsked(_line_of(own), _is_shown(caller)))
            return original(self, *args)

        return text

    for name, original in originals:
        setattr(Tracer, name, patched(original))
    try:
        yield found
    finally:
        for name, original in originals:
            setattr(Tracer, name, original)


_TEXTS = ("__repr__", "__str__", "__format__")


def _asking_frame() -> types.FrameType | None:
    """The user's frame that makes a text, through the `__repr__` of what it is in."""
    frame = inspect.currentframe()
    while frame is not None and (
        frame.f_code.co_filename in (__file__, reprlib.__file__) or frame.f_code.co_name in _TEXTS
    ):
        frame = frame.f_back
    return frame if frame is not None and is_user_file(frame.f_code.co_filename) else None


def _is_shown(frame: types.FrameType) -> bool:
    line, end_line, column, end_column = position(frame.f_code, frame.f_lasti)
    if line is None or end_line is None or column is None or end_column is None:
        return False
    text = "".join(linecache.getlines(frame.f_code.co_filename, frame.f_globals))
    return is_shown(text, (line, end_line, column, end_column))


class TypeAsked(NamedTuple):
    """A function that was asked for the Python type of a tracer."""

    function: str
    value: Any
    """The value that the tracer replaces."""
    line: int | None
    """Of the cell."""


@contextmanager
def types_noted(
    scopes: Sequence[MutableMapping[str, Any]], original_of: Callable[[Any], Any], file: str
) -> Generator[list[TypeAsked]]:
    """Collect the decisions that code of these scopes takes on a tracer's Python type.

    `isinstance(lr, float)` and `round(lr)` give something else for a tracer than for the value
    that it replaces, which `original_of` returns, or the tracer itself. The type of a `jax.Array`
    is the tracer's.
    """
    found: list[TypeAsked] = []

    def note(function: str, value: Any) -> None:
        found.append(TypeAsked(function, original_of(value), _line_of(file)))

    def checked(value: Any, kinds: Any) -> bool:
        answer = isinstance(value, kinds)
        if isinstance(value, Tracer) and isinstance(original_of(value), kinds) != answer:
            note("isinstance", value)
        return answer

    def rounded(value: Any, *digits: Any) -> Any:
        if isinstance(value, Tracer) and not hasattr(original_of(value), "shape"):
            note("round", value)
        return round(value, *digits)

    def has(value: Any, name: str) -> bool:
        answer = hasattr(value, name)
        if isinstance(value, Tracer) and hasattr(original_of(value), name) != answer:
            note("hasattr", value)
        return answer

    def got(value: Any, name: str, *default: Any) -> Any:
        if default and isinstance(value, Tracer):
            has(value, name)
        return getattr(value, name, *default)

    def is_scalar(value: Any) -> bool:
        answer = bool(scalar(value))
        if isinstance(value, Tracer) and scalar(original_of(value)) != answer and _asking_frame():
            note("np.isscalar", value)
        return answer

    class Asking(type):
        def __call__(cls, *args: Any, **options: Any) -> Any:
            one = args[0] if len(args) == 1 else None
            if isinstance(one, Tracer) and not isinstance(original_of(one), jax.Array):
                note("type", one)
            return type(*args, **options)

        def __instancecheck__(cls, value: Any) -> bool:
            return isinstance(value, type)

        def __subclasscheck__(cls, kind: type) -> bool:
            return issubclass(kind, type)

    hooks = {
        "isinstance": checked,
        "round": rounded,
        "hasattr": has,
        "getattr": got,
        "type": Asking("type", (type,), {}),
    }
    scalar, np.isscalar = np.isscalar, is_scalar
    added: list[tuple[MutableMapping[str, Any], str, Any]] = []
    for scope in scopes:
        for name, hook in hooks.items():
            if name not in scope:
                scope[name] = hook
                added.append((scope, name, hook))
    try:
        yield found
    finally:
        np.isscalar = scalar
        for scope, name, hook in added:
            if scope.get(name) is hook:
                del scope[name]


def _line_of(file: str) -> int | None:
    """The line of the cell that is running."""
    frame = inspect.currentframe()
    while frame is not None and frame.f_code.co_filename != file:
        frame = frame.f_back
    return None if frame is None else frame.f_lineno


def _line_of_user(file: str) -> int | bool | None:
    """The line of the cell, None for a helper outside it; False for a library."""
    frame = inspect.currentframe()
    jax_home = jax_directory()
    while frame is not None and (
        frame.f_code.co_filename.startswith(jax_home) or frame.f_code.co_filename == __file__
    ):
        frame = frame.f_back
    if frame is None or not _is_users(frame, file):
        return False
    catches = False
    while frame is not None and frame.f_code.co_filename != file:
        catches = catches or (_is_users(frame, file) and _catches(frame))
        frame = frame.f_back
    line = None if frame is None else frame.f_lineno
    while frame is not None and not catches:
        catches = frame.f_code.co_filename == file and _catches(frame)
        frame = frame.f_back
    return line if catches else False


def _is_users(frame: types.FrameType, file: str) -> bool:
    return frame.f_code.co_filename == file or is_user_file(frame.f_code.co_filename)


def _catches(frame: types.FrameType) -> bool:
    """Whether the instruction is inside a `try` with an `except`; JAX catches such errors, too."""
    bytecode = dis.Bytecode(frame.f_code)
    entries = getattr(bytecode, "exception_entries", None)
    if entries is None:  # private: without it any code may catch
        return True
    handlers = {entry.target for entry in entries if entry.start <= frame.f_lasti < entry.end}
    if not handlers:
        return False
    names = [(one.offset, one.opname) for one in bytecode]
    for index, (offset, _) in enumerate(names):
        if offset in handlers:
            following = [name for _, name in names[index + 1 : index + _HANDLER]]
            if following[:1] == ["POP_TOP"] or "CHECK_EXC_MATCH" in following:
                return True
            if "WITH_EXCEPT_START" in following[:1] and "suppress" in frame.f_code.co_names:
                return True
    return False


_HANDLER = 14
"""Instructions of a handler up to its test of the exception's class."""

MOST_NOTES = 100


class SideEffectRecorder:
    """Records side effects that happen only while tracing: `print` and files opened for writing.

    Both still do what they always do, and are restored at the end.
    """

    def __init__(self, file: str) -> None:
        """`file` is the cell's."""
        self._file = file
        self.printed: list[ObservedSideEffect] = []
        self.written: list[ObservedSideEffect] = []
        self._print = builtins.print
        self._open = builtins.open
        self._import = builtins.__import__
        self._thread = 0

    def __enter__(self) -> Self:
        self._print, self._open = builtins.print, builtins.open
        self._import, self._thread = builtins.__import__, threading.get_ident()
        builtins.print, builtins.open = self._printing, self._opening
        builtins.__import__ = self._importing
        return self

    def __exit__(self, *_: object) -> None:
        builtins.print, builtins.open = self._print, self._open
        builtins.__import__ = self._import

    def _importing(self, *args: Any, **options: Any) -> Any:
        """A module may keep `print` for as long as it lives, as Numba does by its name."""
        nested = builtins.print != self._printing
        if nested or threading.get_ident() != self._thread:
            return self._import(*args, **options)
        builtins.print, builtins.open = self._print, self._open
        try:
            return self._import(*args, **options)
        finally:
            builtins.print, builtins.open = self._printing, self._opening

    def _printing(self, *values: Any, **options: Any) -> None:
        if len(self.printed) < MOST_NOTES and options.get("file") is None:
            text = " ".join([words.cut(str(value), 80) for value in values])
            self.printed.append(ObservedSideEffect(_line_of(self._file), text))
        self._print(*values, **options)

    def _opening(self, file: Any, mode: str = "r", *args: Any, **options: Any) -> Any:
        if len(self.written) < MOST_NOTES and set(mode) & set("wax+"):
            line = _line_of(self._file)
            if line is not None:
                self.written.append(ObservedSideEffect(line, words.cut(str(file), 80)))
        return self._open(file, mode, *args, **options)
