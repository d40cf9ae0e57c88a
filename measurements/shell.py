"""A plain IPython shell with jaxscope loaded, and an independent count of compilations."""

from __future__ import annotations

import contextlib
import io
import time
from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any

STAGES = (
    "/jax/core/compile/jaxpr_trace_duration",
    "/jax/core/compile/jaxpr_to_mlir_module_duration",
    "/jax/core/compile/backend_compile_duration",
)


@dataclass
class Counter:
    """Compilations by XLA, and the seconds of all three stages, as `jax.monitoring` reports them.

    A function that is jitted inside a different one is traced with it, and both are reported.
    Overlaps count once, or our own share would come out too small.
    """

    compiles: int = 0
    spans: list[tuple[float, float]] = field(default_factory=list)
    names: list[str] = field(default_factory=list)

    def __call__(self, event: str, seconds: float, **details: Any) -> None:
        if event in STAGES:
            now = time.perf_counter()
            self.spans.append((now - seconds, now))
        if event == STAGES[2]:
            self.compiles += 1
            self.names.append(str(details.get("fun_name", "")))

    @property
    def seconds(self) -> float:
        """Wall time covered by any stage."""
        total, reached = 0.0, float("-inf")
        for begin, end in sorted(self.spans):
            total += max(0.0, end - max(begin, reached))
            reached = max(reached, end)
        return total


@contextlib.contextmanager
def shell(before: str = "") -> Generator[tuple[Any, Counter]]:
    """The shell and the counter, removed at the end. The cell `before` runs without jaxscope."""
    import jax
    from IPython.core.interactiveshell import InteractiveShell

    counter = Counter()
    jax.monitoring.register_event_duration_secs_listener(counter)
    made = InteractiveShell.instance()
    if before:
        run(made, before)
    made.run_line_magic("load_ext", "jaxscope")
    try:
        yield made, counter
    finally:
        made.run_line_magic("unload_ext", "jaxscope")
        jax.monitoring.unregister_event_duration_listener(counter)
        InteractiveShell.clear_instance()


def run(made: Any, text: str) -> float:
    """Run a cell without its display; return the seconds. Raises the cell's exception."""
    with contextlib.redirect_stdout(io.StringIO()):
        began = time.perf_counter()
        result = made.run_cell(text, store_history=True)
        seconds = time.perf_counter() - began
    result.raise_error()
    return seconds
