"""Numba: Python loops over NumPy arrays, compiled by LLVM."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jaxscope.bench.frameworks.implementation import (
    Implementation,
    Prepared,
    Refusal,
    Task,
    import_failure,
    timed,
)
from jaxscope.model.comparison import Phases


class Numba(Implementation):
    """`numba.njit`, compiled for these types before its first call."""

    name = "numba"
    title = "Numba"
    compiles = True

    def missing(self) -> str:
        return import_failure("numba", "Numba", "numba")

    def versions(self) -> tuple[tuple[str, str], ...]:
        return (("numba", str(_numba().__version__)),)

    def namespace(self) -> Any:
        raise Refusal(
            "Numba compiles calls of `np`, not of an argument: give it a section, `# numba`."
        )

    def prepare(self, task: Task, args: Sequence[Any], device: str) -> Prepared:
        if task.grad or task.vmap:
            what = "gradients" if task.grad else "vmap"
            raise Refusal(f"Numba has no {what}: write that function in the section.")
        numba = _numba()
        jitted = numba.njit(task.callable, **task.options)
        types = tuple(numba.typeof(array) for array in args)
        try:
            _, seconds = timed(lambda: jitted.compile(types))
        except numba.core.errors.NumbaError as error:
            raise Refusal(f"Numba cannot compile it: {_reason(str(error))}.") from None
        return Prepared(
            jitted, Phases(compile_s=seconds), compile_count=lambda: len(jitted.signatures)
        )


def _reason(text: str) -> str:
    """The sentence of its message that names the cause; the others are advice and positions."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    wanted = (line for line in lines if not line.startswith(("Failed in", "During:", "File")))
    return next(wanted, "it gives no reason").rstrip(".:")


def _numba() -> Any:
    import numba  # pyright: ignore[reportMissingImports]

    return numba
