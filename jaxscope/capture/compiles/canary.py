"""A program of jaxscope's own that shows whether JAX reports compilations, and what of them.

It is compiled at most once per process, and only where nothing of the user's was observed: there,
nothing compiled, or a version of JAX reports it in another way, and a guard must not pass.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from importlib import metadata
from typing import Any

from jaxscope import words
from jaxscope.capture.compiles.raw_compile import RawCompile

_LOCK = threading.Lock()
_found: list[str] = []
Observe = Callable[[Callable[[], object]], list[RawCompile]]
"""Runs a program, and returns what a new listener observed of it."""


def unobserved(observe: Observe) -> str:
    """The stages of a compilation that JAX did not report, as a clause; empty when it did."""
    with _LOCK:
        if not _found:
            _found.append(_compiled(observe))
        return _found[0]


def forget() -> None:
    """Let the next question compile again."""
    _found.clear()


def _compiled(observe: Observe) -> str:
    def jaxscope_canary(x: Any, k: int) -> Any:
        return x * k

    jax_version = f"jax {metadata.version('jax')}"
    try:
        import jax
        import numpy as np

        program = jax.jit(jaxscope_canary, static_argnums=1)
        # The user's settings must not keep it from compiling.
        with jax.disable_jit(False), jax.transfer_guard("allow"):
            raws = observe(lambda: program(np.ones(3, np.float32), 2))
    except Exception as error:
        return f"a trial compilation failed ({type(error).__name__}: {error})"
    stages = {
        "trace": any(raw.traced for raw in raws),
        "lowering": any(raw.lowered for raw in raws),
        "XLA compilation": any(raw.compiled for raw in raws),
    }
    if silent := [name for name, seen in stages.items() if not seen]:
        return f"{jax_version} reported no {words.listed(silent, last='or')}"
    known = [raw for raw in raws if raw.fun_name == "jaxscope_canary" and raw.compiled]
    if not known:
        return f"{jax_version} reported a compilation without the function's name"
    return ""
