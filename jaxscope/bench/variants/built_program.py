"""A compiled program with its arguments and its results, ready to be called again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax

from jaxscope.bench.variants.changed_state import State
from jaxscope.bench.variants.contents import is_code
from jaxscope.capture.inputs.arguments import holds_tracer
from jaxscope.capture.inputs.traced_or_static import choose
from jaxscope.capture.program.compile import Captured
from jaxscope.capture.timing.copies import copied
from jaxscope.model.variants import PlanFigures


@dataclass(frozen=True, slots=True)
class BuiltProgram:
    """A compiled program with its arguments and its results."""

    name: str
    call: Callable[..., Any]
    """The compiled program, of positional arguments; the last holds the keywords, if any."""
    args: tuple[Any, ...]
    donates: bool
    results: Mapping[str, Any]
    """Values by name, as the code binds them; the value of the last expression as ``."""
    plan: PlanFigures
    lowered: Any = None
    """JAX's `Lowered`; None for plain Python."""
    compiled: Sequence[str] = ()
    """The functions and operations that the first run of a cell compiled."""
    repeats: int = 0
    """Compilations of every further run of a cell."""
    again_s: float = 0.0
    """Seconds of its second run."""
    state: Mapping[str, State] = field(default_factory=dict[str, State])
    """The objects that the code may change in place, after its first run."""

    def same_program(self, other: BuiltProgram) -> bool:
        """Whether both were lowered to the same text."""
        if self.lowered is None or other.lowered is None:
            return False
        return self.lowered.as_text() == other.lowered.as_text()

    def fresh(self) -> tuple[Any, ...]:
        """Arguments for one more call."""
        return copied(self.args)


def result_shapes(lowered: Any) -> list[tuple[Any, Any]]:
    """Shape and dtype of each result of a program."""
    leaves = jax.tree_util.tree_leaves(getattr(lowered, "out_info", None))
    return [(leaf.shape, leaf.dtype) for leaf in leaves]


def bound(before: Mapping[str, Any], after: Mapping[str, Any], value: Any) -> dict[str, Any]:
    """The data that the code bound, and its value."""
    found = {
        name: one
        for name, one in after.items()
        if not name.startswith("_")
        and before.get(name) is not one
        and not is_code(one)
        and not holds_tracer(one)
    }
    return {**found, "": value}


def is_deleted(tree: Any) -> bool:
    leaves = jax.tree_util.tree_leaves(tree)
    return any(isinstance(leaf, jax.Array) and leaf.is_deleted() for leaf in leaves)


def without_statics(
    captured: Captured, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """The arguments without those that the jitted function holds as constants."""
    infos = getattr(captured.handles.traced, "args_info", None)
    if infos is None or not isinstance(infos, tuple) or len(infos) != 2:
        return None
    if len(infos[0]) == len(args):
        return None
    kept = [a for a in args if all(choose(leaf).traced for leaf in jax.tree_util.tree_leaves(a))]
    known = {k: v for k, v in kwargs.items() if k in infos[1]}
    return (tuple(kept), known) if len(kept) == len(infos[0]) else None
