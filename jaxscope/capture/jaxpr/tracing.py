"""Observation of a trace, and what is changed for its time."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import ExitStack, contextmanager, suppress

from jaxscope.capture import _jax


@contextmanager
def observed_tracing(vmaps: list[_jax.VmapEntry]) -> Generator[None]:
    """Note the arguments of every vmap traced inside the block, where this JAX lets it.

    Equations of a custom derivative's rule name the user's lines in it, if it has any, and then
    that of the call.
    """
    with ExitStack() as stack:
        with suppress(Exception):
            stack.enter_context(_jax.watching_vmaps(vmaps))
        with suppress(Exception):
            stack.enter_context(_jax.own_lines_of_rules())
        yield
