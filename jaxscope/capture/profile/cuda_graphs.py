"""A GPU's program without CUDA graphs, whose kernels name their instructions.

XLA launches most instructions of a program as CUDA graphs ("command buffers"), and the profiler
then reports the graph in place of the instruction. The same program, compiled without them, runs
the same kernels in the same order: that order names those of the graphs. Only loops run others.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from jaxscope import words
from jaxscope.capture import _jax
from jaxscope.capture.compiles.listener import own_work
from jaxscope.capture.program.compile import Captured

OPTIONS: dict[str, Any] = {"xla_gpu_graph_min_graph_size": 1_000_000}
"""No graph has so many instructions. Seen to work on jaxlib 0.11.2; the option is a field of
xla.proto's DebugOptions."""
_CONFIG = re.compile(r", backend_config=.*")


@dataclass(frozen=True, slots=True)
class WithoutGraphs:
    """The program without CUDA graphs."""

    call: Callable[..., Any]
    seconds: float
    """Of its compilation."""

    @property
    def ordered(self) -> str:
        """A sentence on kernels that its order named."""
        return (
            "Kernels in CUDA graphs, which name no instruction, are named by their order in the "
            f"program without graphs{self._compiled}."
        )

    @property
    def profiled(self) -> str:
        """A sentence on a profile of this program."""
        return (
            "Profiled without CUDA graphs, which name no instruction: launched one by one, short "
            f"kernels can take twice as long{self._compiled}."
        )

    @property
    def _compiled(self) -> str:
        # JAX keeps the program for the next profile.
        return (
            f" (compiled for it: {words.seconds(self.seconds)})" if self.seconds > _KEPT_S else ""
        )


_KEPT_S = 5e-3


def without_graphs(captured: Captured, named: Mapping[str, Any]) -> WithoutGraphs | None:
    """Compile the program once more, without CUDA graphs; `named` are its keyword arguments.

    None where that is not possible, and where XLA makes other instructions of it: then the names in
    its trace would lead to wrong lines.
    """
    handles = captured.handles
    if handles.lowered is None:
        return None
    began = time.perf_counter()
    try:
        with own_work():
            compiled = handles.lowered.compile(compiler_options=OPTIONS)
        seconds = time.perf_counter() - began
        if _instructions(str(compiled.as_text())) != _instructions(handles.raw()):
            return None
    except Exception:  # another XLA may not have the option
        return None

    def call(*args: Any) -> Any:
        args, kwargs = _jax.traced_arguments(captured.request.jitted, args, dict(named))
        return compiled(*args, **kwargs)

    return WithoutGraphs(call, seconds)


def _instructions(text: str) -> str:
    """The program without the choices of kernels."""
    return _CONFIG.sub("", text)
