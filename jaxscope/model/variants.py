"""Variants: the same program, changed in one way, tried and measured."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from enum import StrEnum

from jaxscope.model.comparison import Ratio


class TrialVerdict(StrEnum):
    """The conclusion of a trial. Only `BETTER` is a claim of a gain."""

    BETTER = "better"
    WORSE = "worse"
    SAME = "same"
    UNCLEAR = "unclear"
    RESULTS_DIFFER = "results differ"
    FAILED = "failed"
    """It was tried and stopped: the reason is a sentence."""
    NOT_TRIED = "not tried"
    """Nothing was run, because no change is known or the code must not run again: the reason is a
    sentence."""


class Aim(StrEnum):
    """The figure that a change is meant to lower."""

    TIME = "time"
    MEMORY = "memory"
    COMPILE = "compile"
    """Compile time, of a program that runs as fast as before."""
    COMPILATIONS = "compilations"
    """The number of compilations of a cell."""


@dataclass(frozen=True, slots=True)
class Change:
    """One change of a program: an edited source, or options."""

    title: str
    """Such as `use solve`, or the option itself."""
    line: int | None = None
    source: int = 0
    """Index in `Record.sources` of the text that is edited."""
    text: str = ""
    """The whole edited text; empty where only options change."""
    _: KW_ONLY
    donate: tuple[str, ...] = ()
    """Inputs that are donated."""
    traced: tuple[str, ...] = ()
    """Static inputs that are traced."""
    on_device: bool = False
    """NumPy arguments are on the device before the call."""
    options: tuple[tuple[str, str | bool | int], ...] = ()
    """Compiler options."""
    narrow: bool = False
    """NumPy arrays of 64 bits have the 32 that JAX computes in."""
    lines: str = ""
    """Lines of a cell before this one that make the change, where the text stays the same."""
    cast: str = ""
    """The dtype that inputs of float32 get."""
    products: str = ""
    """The precision of matrix products, as `jax.default_matmul_precision` has it."""
    aim: Aim = Aim.TIME
    others: tuple[Change, ...] = ()
    """Other forms of it, tried where this one brings nothing or makes calls slower."""

    @property
    def rounds_more(self) -> bool:
        """Whether the results differ on purpose."""
        return bool(self.cast or self.products)


@dataclass(frozen=True, slots=True)
class PlanFigures:
    """Figures of one compiled program; None where XLA does not give them."""

    flops: float | None
    bytes: float | None
    peak: int | None
    compile_s: float | None
    """Seconds of lowering and XLA."""
    compilations: int | None = None
    """Compilations of a whole cell, with its functions created anew; None for one program."""


@dataclass(frozen=True, slots=True)
class VariantTrial:
    """A change that was tried, with what it brought, or the reason why it was not."""

    title: str
    """The change, or the kind of the finding where there is none."""
    verdict: TrialVerdict
    why: str = ""
    """The reason of every verdict but better and worse, as a sentence."""
    _: KW_ONLY
    number: int = 0
    """Of the finding in the report, from 1; 0 for a compiler option."""
    line: int | None = None
    diff: str = ""
    """The change as a unified diff of the source, or the option."""
    cell: str = ""
    """The text of a cell with the change; empty where it is in no cell."""
    ratio: Ratio | None = None
    """Time of the changed program over that of the original, from paired rounds."""
    error: float | None = None
    """Largest difference of the results over the largest value."""
    before: PlanFigures | None = None
    after: PlanFigures | None = None
    options: tuple[tuple[str, str | bool | int], ...] = ()
