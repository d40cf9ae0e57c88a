"""The log of callbacks that raise."""

from __future__ import annotations

import logging
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def muted() -> Generator[None]:
    """Keep JAX from logging the traceback of a callback that raises: the error itself has it.

    By the name of the module, seen on jax 0.8.1, 0.10.2 and 0.12.0.1; with another name it is
    logged.
    """
    logger = logging.getLogger("jax._src.callback")

    def nothing(record: logging.LogRecord) -> bool:
        return False

    logger.addFilter(nothing)
    try:
        yield
    finally:
        logger.removeFilter(nothing)
