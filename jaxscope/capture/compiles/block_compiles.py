"""What a block of code compiled."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from jaxscope.capture.compiles.open_stages import Stage
from jaxscope.capture.compiles.raw_compile import RawCompile
from jaxscope.model.compiles import Compile
from jaxscope.model.source import Source


class BlockCompiles:
    """The compiles of one block on one thread."""

    def __init__(
        self,
        on_trace_start: Callable[[str], None] | None,
        on_lowering_start: Callable[[str], None] | None,
        on_compiled: Callable[[RawCompile], None] | None,
    ) -> None:
        self.raw: list[RawCompile] = []
        """Everything that was traced, lowered or compiled, in the order it began."""
        self.on_trace_start = on_trace_start
        self.on_lowering_start = on_lowering_start
        self.on_compiled = on_compiled

    def hook(self, stage: Stage) -> Callable[[str], None] | None:
        """What to call when a stage begins."""
        return {Stage.TRACE: self.on_trace_start, Stage.LOWER: self.on_lowering_start}.get(stage)

    def compiles(self, sources: Sequence[Source] = ()) -> tuple[Compile, ...]:
        """The compiles proper: those for which XLA was asked. Sites refer to `sources`."""
        return tuple([raw.to_compile(sources) for raw in self.raw if raw.compiled])

    def passes(self, sources: Sequence[Source] = ()) -> tuple[Compile, ...]:
        """Compiles, and what was only traced or lowered; a hit in every cache is left out."""
        return tuple([raw.to_compile(sources) for raw in self.raw if raw.happened])
