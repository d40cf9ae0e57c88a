"""What a magic cannot do without."""

from __future__ import annotations

import importlib

from IPython.core.error import UsageError


def require_jax(magic: str) -> None:
    """Raises UsageError with the cure when there is no JAX."""
    try:
        importlib.import_module("jax")
    except ModuleNotFoundError as error:
        if error.name not in ("jax", "jaxlib"):
            raise
        raise UsageError(
            f"%{magic} needs JAX, and this Python has none: run `%pip install jax` and restart "
            "the kernel."
        ) from None
