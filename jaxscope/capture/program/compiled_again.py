"""Results of compiling a program once more, each compiled when it is first requested, and kept."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from jaxscope.analysis.machine_code.llvm import LlvmModules
from jaxscope.analysis.passes.snapshots import Snapshots
from jaxscope.capture.program.dump_process import sentence
from jaxscope.capture.program.fusions import FusionRemarks, read_remarks
from jaxscope.capture.program.passes import llvm_dump, pass_dump
from jaxscope.capture.targets.compiled import NOT_HERE
from jaxscope.capture.targets.workers import WorkerLost
from jaxscope.model import StageKind, Unavailable

if TYPE_CHECKING:
    from jaxscope.capture.program.stages import Handles

UNSEEN = "the program was compiled before jaxscope saw it, so {} unknown"
Read = TypeVar("Read")
RELEASED = "the compiled program was released; re-run the cell"


_PRICES = {
    StageKind.PASSES: (0.012, 0.60, 4.7e-5),
    StageKind.REMARKS: (0.036, 0.30, 1.8e-4),
    StageKind.LLVM: (0.0, 1.24, 0.0),
    StageKind.LLVM_OPTIMIZED: (0.0, 1.24, 0.0),
}
"""Seconds: fixed, of each second of the first compilation, of each instruction. HLO alone saves the
code that LLVM makes; a text is written and read for each pass. Fitted to 11 programs of 10 to
36 000 instructions on two cores: `python -m measurements dump_price` measures five of them."""
_PASSES_ALONE = (0.25, 2.5e-4)
"""Seconds: fixed, of each instruction that XLA receives. The most that passes take: code is not
waited for."""


def dump_price(kind: StageKind, first_s: float, instructions: int, received: int) -> float:
    """Estimated seconds of a compilation that dumps this stage.

    `first_s` are those of XLA when it compiled the program first, `instructions` those of the
    optimized HLO, and `received` those of the StableHLO.
    """
    fixed, share, each = _PRICES.get(kind, (0.0, 1.0, 0.0))
    price = fixed + share * first_s + each * instructions
    if kind is StageKind.PASSES:
        price = min(price, _PASSES_ALONE[0] + _PASSES_ALONE[1] * received)
    return price


class CompiledAgain:
    """The passes, the fusion remarks and the LLVM IR of a program."""

    def __init__(self, handles: Handles) -> None:
        # Weak: garbage in a cycle keeps its executable until Python collects the oldest generation,
        # after hundreds of cells.
        self._handles = weakref.proxy(handles)
        self._passes: Snapshots | None = None
        self._llvm: LlvmModules | None = None
        self._remarks: FusionRemarks | None = None
        self.lost = False
        """Whether the last compilation ended with its process; another one may succeed."""

    def passes(self) -> Snapshots | Unavailable:
        """The program after each pass of XLA."""
        if self._passes is None:
            found = self._compile("its passes are", pass_dump)
            if isinstance(found, Unavailable):
                return found
            self._passes = found
        return self._passes

    def llvm(self) -> LlvmModules | Unavailable:
        """The LLVM IR of its kernels, before and after LLVM's passes."""
        if self._llvm is None:
            found = self._compile("this stage is", llvm_dump)
            if isinstance(found, Unavailable):
                return found
            self._llvm = found
        return self._llvm

    def remarks(self) -> FusionRemarks | Unavailable:
        """The values that XLA did not fuse."""
        if self._remarks is None:
            found = self._compile("its fusions are", lambda *_: read_remarks(self._handles))
            if isinstance(found, Unavailable):
                return found
            self._remarks = found
        return self._remarks

    def compiles(self, kind: StageKind) -> bool:
        """Whether a request for the stage compiles the program."""
        if not kind.costs_compile or self._refused("this stage is"):
            return False
        match kind:
            case StageKind.PASSES:
                return self._passes is None
            case StageKind.REMARKS:
                return self._remarks is None
            case _:
                return self._llvm is None

    def _compile(
        self, missing: str, read: Callable[[Any, Any], Read | Unavailable]
    ) -> Read | Unavailable:
        self.lost = False
        if why := self._refused(missing):
            return Unavailable(why)
        try:
            return read(self._handles.lowered, self._handles.compiled)
        except WorkerLost as lost:
            self.lost = True
            return Unavailable(sentence(lost))

    def _refused(self, missing: str) -> str:
        """The reason why the program cannot be compiled once more; empty where it can."""
        mine = self._handles
        if mine.released:
            return RELEASED
        if mine.lowered is None or mine.compiled is None:
            return UNSEEN.format(missing)
        return "" if mine.foreign is None else NOT_HERE.format(mine.foreign.target.name)
