"""The function under a stack of transforms: traced once, as the innermost transform sees it.

JAX's transforms may call a function again, and some must know the type of its value before they
call it. So a cell is traced to a jaxpr first, with the axes of the maps around it in place, and the
transforms are applied to that jaxpr. Its equations keep their places in the user's text.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import jax

from jaxscope.capture import _jax
from jaxscope.capture.options.error_origin import calls_user_code


@dataclass(frozen=True, slots=True)
class Untransformed:
    """The program of one example, before any transform."""

    jaxpr: Any
    """A closed jaxpr; its inputs are the traced leaves in flat order."""
    paths: tuple[str, ...]
    """Names of those leaves."""

    @property
    def avals(self) -> tuple[jax.ShapeDtypeStruct, ...]:
        """Shapes and types of one example's inputs."""
        return tuple([jax.ShapeDtypeStruct(a.shape, a.dtype) for a in self.jaxpr.in_avals])

    @property
    def function(self) -> Callable[..., list[Any]]:
        """The program as a function of its leaves, which JAX can trace and transform."""
        try:
            return _jax.as_function(self.jaxpr)
        except Exception:
            from jax.extend.core import jaxpr_as_fun

            return jaxpr_as_fun(self.jaxpr)


@dataclass(slots=True, weakref_slot=True, eq=False)  # JAX holds a function weakly
class Base:
    """Traces a program once, and is then a function that can be called repeatedly."""

    program: Callable[..., tuple[Any, list[Any]]]
    """Returns the value to transform and the other results; it is called once."""
    paths: tuple[str, ...]
    named: Callable[[Callable[..., Any]], Callable[..., Any]]
    """Gives a function the name and line that JAX reports in errors."""
    known: Untransformed | None = None
    """None before `trace`."""
    _out: Any = None

    def trace(self, *packed: Any) -> list[Any]:
        """Trace the program with arguments like these. Raises what the user's code raises."""

        def flat(*arguments: Any) -> list[Any]:
            leaves, self._out = jax.tree_util.tree_flatten(self.program(*arguments))
            return leaves

        closed = jax.make_jaxpr(self.named(flat))(*packed)
        with suppress(Exception):  # of a different JAX: an array changed in place may be stale
            _jax.renew_constants(closed)
        self.known = Untransformed(closed, self.paths)
        return []

    @property
    def value(self) -> Any:
        """Shapes and types of the value to transform, in its containers, after `trace`."""
        assert self.known is not None
        avals = [jax.ShapeDtypeStruct(a.shape, a.dtype) for a in self.known.jaxpr.out_avals]
        return jax.tree_util.tree_unflatten(self._out, avals)[0]

    @calls_user_code
    def __call__(self, *packed: Any) -> tuple[Any, list[Any]]:
        """The value and the other results."""
        assert self.known is not None
        leaves = self.known.function(*jax.tree_util.tree_leaves(packed))
        return jax.tree_util.tree_unflatten(self._out, leaves)
