"""The user's source texts, found while reading stack frames."""

from __future__ import annotations

import ast
import functools
import linecache
import os
import re
import time
from collections.abc import Callable, Iterator
from types import CodeType

from jaxscope import words
from jaxscope.capture.source.frames import CALL_FILE, Position, is_user_file
from jaxscope.model import Frame, Source, SourceKind, Span
from jaxscope.model.source import EDITED_SINCE

_MAGIC = re.compile(
    r"^(?P<before>[ \t]*(?:[\w, ]+ = )?)get_ipython\(\)\.run_line_magic"
    r"\((?P<arguments>'\w+', (?:'[^\n]*'|\"[^\n]*\"))\)$",
    re.MULTILINE,
)
_STARTED = time.time()
"""Files that are older are not compared with the code that was loaded from them."""


class SourceFiles:
    """The user's files, distinguished from libraries, with their texts.

    The cell comes first; a file that a frame names is added on first sight. Not thread safe: one
    program is read by one thread.
    """

    def __init__(
        self, cell: Source | None = None, cell_name: Callable[[str], str | None] = lambda file: None
    ) -> None:
        """`cell_name` gives the name (`In [3]`) of a notebook cell by its file name, else None."""
        self._cell_name = cell_name
        self._sources: list[Source] = []
        self._lines: list[tuple[str, ...]] = []
        self._index: dict[str, int | None] = {}
        self._edited: dict[str, None] = {}
        if cell is not None:
            self._index[cell.file] = 0
            self._add(cell)

    def all(self) -> tuple[Source, ...]:
        """The cell, then the others in the order in which they were met."""
        return tuple(self._sources)

    def index(self, file: str) -> int | None:
        """The place of a file's text in `all()`, or None for a library and for a missing text."""
        try:
            return self._index[file]
        except KeyError:
            found = self._index[file] = self._find(file)
            return found

    def index_of(self, code: CodeType) -> int | None:
        """The place of a code object's text in `all()`; None also where its file was edited since.

        JAX holds what it traced, also after an `%autoreload` of what the traced function calls, and
        IPython numbers the lines of code that it loads so from the start of the function.
        """
        file = code.co_filename
        index = self._index.get(file)
        of_cell = index is not None and self._sources[index].kind is not SourceKind.MODULE
        if not of_cell and is_user_file(os.path.abspath(file)) and is_edited(code):
            self._edited[os.path.basename(file)] = None
            return None
        return self.index(file)

    def notes(self) -> tuple[str, ...]:
        """A sentence on the files whose lines are not those of the code, if there are any."""
        if not self._edited:
            return ()
        names = words.listed([f"`{name}`" for name in self._edited])
        its = "it is" if len(self._edited) == 1 else "they are"
        note = (
            f"{EDITED_SINCE}{names} as {its} now, so its lines are not shown. "
            "Run `importlib.reload` and `jax.clear_caches()`, also under `%autoreload`."
        )
        return (note,)

    def span(self, index: int, position: Position) -> Span:
        """The span of a code position `(line, end line, column, end column)`.

        Python counts columns in bytes of UTF-8, a span in characters.
        """
        line, end_line, column, end_column = position
        first = line or 1
        last = end_line or first
        return Span(
            first,
            self._characters(index, first, column or 0),
            last,
            self._characters(index, last, end_column or column or 0),
        )

    def frame(self, file: str, function: str, position: Position) -> Frame | None:
        """The frame at a code position, or None if the file is not the user's."""
        index = self.index(file)
        if index is None:
            return None
        return Frame(index, file, function, self.span(index, position))

    def whole_call(self) -> tuple[Frame, ...]:
        """The frame of a line form's text, where the program is what that text calls; or none."""
        if not self._sources or self._sources[0].file != CALL_FILE:
            return ()
        (text, *_) = self._lines[0]
        return (Frame(0, CALL_FILE, "<module>", Span(1, 0, 1, len(text))),)

    def _characters(self, index: int, line: int, column: int) -> int:
        lines = self._lines[index]
        text = lines[line - 1] if 0 < line <= len(lines) else ""
        if text.isascii():
            return column
        return len(text.encode()[:column].decode(errors="replace"))

    def _find(self, file: str) -> int | None:
        name = self._cell_name(file)
        if name is None and (file.startswith("<") or not is_user_file(os.path.abspath(file))):
            return None
        linecache.checkcache(file)  # a module that was edited and loaded again
        lines = linecache.getlines(file)
        if not lines:
            return None
        text = "".join(lines)
        if name is None:
            return self._add(Source(os.path.basename(file), file, SourceKind.MODULE, text))
        return self._add(Source(name, file, SourceKind.OTHER_CELL, as_typed(text)))

    def _add(self, source: Source) -> int:
        self._sources.append(source)
        self._lines.append(source.lines)
        return len(self._sources) - 1


def is_edited(code: CodeType) -> bool:
    """Whether a file that changed in this process has no such code any more."""
    file = code.co_filename
    try:
        if os.stat(file).st_mtime < _STARTED:
            return False
        linecache.checkcache(file)
        return _key(code) not in _keys("".join(linecache.getlines(file)))
    except (OSError, SyntaxError, ValueError):
        return False


@functools.lru_cache(maxsize=16)
def _keys(text: str) -> frozenset[object]:
    module = compile(text, "<text>", "exec", dont_inherit=True)
    return frozenset(_key(code) for code in _codes(module))


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _codes(inner)


def _key(code: CodeType) -> object:
    """The same for two code objects of one text at the same lines."""
    simple = int | float | complex | str
    constants = [repr(one) for one in code.co_consts if isinstance(one, simple)]
    position = code.co_firstlineno, code.co_linetable
    return code.co_qualname, *position, code.co_code, code.co_names, *constants


def as_typed(cell: str) -> str:
    """A cell with its line magics as they were typed: `%jaxprof f(x)`.

    Python has the call that IPython wrote for each, on a line of the same number. For display only:
    the result is not Python.
    """
    return _MAGIC.sub(_typed, cell)


def _typed(call: re.Match[str]) -> str:
    try:
        words = ast.literal_eval(f"({call['arguments']})")
    except (SyntaxError, ValueError):
        return call[0]
    return f"{call['before']}%{' '.join(words).rstrip()}"
