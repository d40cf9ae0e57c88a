"""Programs that a transform makes of a jitted function, such as the backward pass of `jax.vjp`."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

_NAMES = frozenset({
    "jaxpr", "in_shardings", "out_shardings", "in_layouts", "out_layouts", "donated_invars",
    "ctx_mesh", "name", "keep_unused", "inline", "compiler_options_kvs",
})  # fmt: skip


def parameters(values: Mapping[str, Any]) -> dict[str, Any] | None:
    """The parameters of the jit among the locals of `_pjit_call_impl`, which runs the program.

    Seen on jax 0.8.1 to 0.12.0.1. None where some have other names, and then it is not reported.
    """
    known = all(name in values for name in _NAMES)
    return {name: values[name] for name in _NAMES} if known else None


def outline(params: Mapping[str, Any] | None) -> int:
    """Tells apart the programs that one transform makes of one function: a hash of their
    primitives, which other shapes leave as they are. 0 without parameters."""
    held = (params or {}).get("jaxpr")
    equations = getattr(getattr(held, "jaxpr", held), "eqns", None)
    return 0 if equations is None else hash(tuple([str(one.primitive) for one in equations]))


class TransformedFunction:
    """The program that a transform made of a jitted function, to be called as JAX called it.

    JAX keeps what it has compiled by these parameters: `_params` of `jax.stages.Traced`. Without
    that attribute the program is compiled once more.
    """

    def __init__(self, params: Mapping[str, Any]) -> None:
        """`params` are those of the primitive, as `parameters` gives them."""
        self.__name__ = str(params["name"])
        self._params = dict(params)
        self.donated = tuple([i for i, one in enumerate(params["donated_invars"]) if one])
        """Positions of the arguments that a call donates."""

    def __call__(self, *args: Any) -> Any:
        from jax.extend.core import primitives

        return primitives.jit_p.bind(*args, **self._params)

    def trace(self, *args: Any) -> Any:
        """JAX's `Traced`."""
        import jax
        from jax.extend.core import jaxpr_as_fun

        function = jaxpr_as_fun(self._params["jaxpr"])
        traced = copy.copy(jax.jit(function, donate_argnums=self.donated).trace(*args))
        if (own := getattr(traced, "_params", None)) is not None:
            known = {name: value for name, value in self._params.items() if name in own}
            traced._params = {**own, **known}
        return traced
