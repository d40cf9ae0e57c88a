"""The cells that ran, in order: the cell of each compilation, also after a cell ran again."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from jaxscope.capture.source.cell_names import Places, filename_map, next_number

if TYPE_CHECKING:
    from jaxscope.capture.compiles.raw_compile import RawCompile

_KEPT = 10_000
"""Entries at most, as many as a listener keeps compilations."""

_MAGIC_FILES = {"<timed exec>": "%time", "<timed eval>": "%time", "<magic-timeit>": "%timeit"}


@dataclass(slots=True)
class _Begun:
    """A cell, and the serial of the last compilation before it."""

    serial: int
    number: int
    cell_id: str


@dataclass(frozen=True, slots=True)
class _Named:
    """From this compilation on, a file name belonged to the cell of this number."""

    serial: int
    number: int


class CellHistory(Places):
    """Names for a session of a notebook.

    A front end names the code of a cell by its text, so a cell that runs again has the same file
    under a new number. IPython keeps only the latest number; the history keeps each of them.
    """

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._cells: list[_Begun] = []
        self._running: list[_Begun] = []
        self._files: dict[str, list[_Named]] = {}
        self.noted = 0
        """The serial of the latest compilation whose files are known."""

    def begin(self, serial: int, cell_id: str = "") -> None:
        """A cell begins; `serial` is that of the latest compilation."""
        self._running.append(_Begun(serial, next_number(self._shell), cell_id))
        self._write(self._running[-1])

    def end(self, serial: int, number: int | None) -> None:
        """The cell that began last has ended; `number` is IPython's number for it."""
        if not self._running:
            return
        ended = self._running.pop()
        if number is not None:
            ended.number = number
        if self._running:  # a cell that ran a cell continues
            outer = self._running[-1]
            self._running[-1] = _Begun(serial, outer.number, outer.cell_id)
            self._write(self._running[-1])

    def _write(self, begun: _Begun) -> None:
        if self._cells and self._cells[-1].serial >= begun.serial:
            self._cells.pop()  # nothing compiled in it
        self._cells.append(begun)
        if len(self._cells) > _KEPT:
            del self._cells[: _KEPT // 10]

    @property
    def running(self) -> int:
        """The number of the cell that runs."""
        return self._running[-1].number if self._running else next_number(self._shell) - 1

    def note(self, raws: Sequence[RawCompile]) -> None:
        """Keep the current cell numbers of the files of these compilations."""
        known = filename_map(self._shell)
        for raw in raws:
            for frame in raw.frames:
                number = known.get(frame.file)
                entries = self._files.setdefault(frame.file, []) if number is not None else []
                if number is not None and (not entries or entries[-1].number != number):
                    entries.append(_Named(raw.number, number))
            self.noted = max(self.noted, raw.number)

    def cell(self, serial: int) -> int | None:
        found = self._begun(serial)
        return None if found is None else found.number

    def cell_id(self, serial: int) -> str:
        found = self._begun(serial)
        return "" if found is None else found.cell_id

    def number(self, file: str, serial: int) -> int | None:
        entries = self._files.get(file)
        if not entries:
            return super().number(file, serial)
        index = bisect_right(entries, serial, key=attrgetter("serial")) - 1
        return entries[max(index, 0)].number

    def name(self, file: str, serial: int) -> str:
        # The code of `%time` and `%timeit` has a file name of IPython's.
        magic = _MAGIC_FILES.get(file)
        cell = self.cell(serial)
        if magic is not None and cell is not None:
            return f"{magic} in In [{cell}]"
        return super().name(file, serial)

    def _begun(self, serial: int) -> _Begun | None:
        # A cell that began after a compilation is not its cell: strictly smaller serials.
        index = bisect_right(self._cells, serial - 1, key=attrgetter("serial")) - 1
        return self._cells[index] if index >= 0 else None
