"""Values that XLA did not fuse into their consumers, with its reasons."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass


@dataclass(frozen=True, slots=True)
class FusionRemark:
    """A pair of producer and consumer that XLA's fusion pass left apart."""

    producer: str
    """Its instruction after the pass, without the `%`; a fusion has the name of the fusion."""
    consumer: str
    _: KW_ONLY
    reason: str
    """The reason as a clause; in XLA's words where jaxscope has none, and empty where XLA gave
    none."""
    xla: str
    """The reason in XLA's words, as its fusion pass logged it while it compiled the program; empty
    without a log."""
    fusible: bool
    """Whether both sides are loops. False where one is a library call or has a kernel of its own:
    then the value has to be in memory."""
    bytes: int
    """Bytes of the value between them: it is written to memory, and the consumer reads it."""
    only_reader: bool
    """Whether nothing else reads the value, so that a fusion would save the write, too."""
    times: float | None
    """Executions of the producer per run of the program; None inside a branch, or a loop of unknown
    length."""
    producer_lines: tuple[int, ...] = ()
    """The lines of the cell, or of the function's file, that the producer computes."""
    consumer_lines: tuple[int, ...] = ()
