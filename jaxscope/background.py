"""Listen from `import jaxscope` on, so that a log that begins later knows what compiled before.

Nothing here imports jax: listening starts when the user's import of it is done. The listener is
called when something compiles, never for a cached call.
"""

from __future__ import annotations

import contextlib
import sys

from jaxscope.jax_import import PACKAGE, on_arrival

_INSTALLED = contextlib.ExitStack()
"""The finder or the listener that `start` installed in this process."""
_LISTENERS: list[object] = []
"""The listener, once jax is there."""


def start() -> None:
    """Listen now if jax is imported, else as soon as it is."""
    if PACKAGE in sys.modules:
        with contextlib.suppress(Exception):  # then a log says that it began later
            _listen()
    else:
        _INSTALLED.enter_context(on_arrival(_listen))


def stop() -> None:
    """Take back what `start` installed; those who entered the same listener still listen."""
    _INSTALLED.close()


def listening() -> bool:
    """Whether it observes compilations."""
    return bool(_LISTENERS)


def _listen() -> None:
    from jaxscope.capture.compiles.listener import Listener

    _LISTENERS.append(_INSTALLED.enter_context(Listener()))
    _INSTALLED.callback(_LISTENERS.clear)
