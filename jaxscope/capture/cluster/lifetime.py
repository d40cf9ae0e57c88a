"""The end of an engine whose notebook has ended."""

from __future__ import annotations

import os
import select
import signal
import socket
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path


def host_key() -> str:
    """Equal for processes that share a machine, in containers too."""
    with suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    return socket.gethostname()


def process_key() -> tuple[str, int]:
    """The process space of this machine or container, and the number of this process in it."""
    space = ""
    with suppress(OSError):
        space = f"{host_key()} {os.readlink('/proc/self/ns/pid')}"
    return space, os.getpid()


def end_with(space: str, process: int, also: Sequence[int] = ()) -> None:
    """End this process as soon as that one has ended, also while a collective hangs.

    `also` are further processes to end then. Nothing happens where they are in a
    different space, or the system has no `pidfd_open`.
    """
    if not space or process_key()[0] != space or not hasattr(os, "pidfd_open"):
        return
    with suppress(OSError):
        notebook = os.pidfd_open(process)
        others: list[int] = []
        for other in also:
            with suppress(OSError):
                others.append(os.pidfd_open(other))
        threading.Thread(
            target=_wait, args=(notebook, others), name="jaxscope-end", daemon=True
        ).start()


def _wait(notebook: int, others: Sequence[int]) -> None:
    ended = select.poll()
    ended.register(notebook, select.POLLIN)
    ended.poll()
    for other in others:
        with suppress(OSError):
            signal.pidfd_send_signal(other, signal.SIGTERM)
    for child in _nannies():
        with suppress(OSError):
            os.kill(child, signal.SIGTERM)
    os._exit(1)


def _nannies() -> list[int]:
    """ipyparallel's process beside the engine: without a controller to tell, it would never end."""
    found: list[int] = []
    for task in Path("/proc/self/task").iterdir():
        with suppress(OSError, ValueError):
            found += map(int, (task / "children").read_text("ascii").split())
    return [child for child in found if _is_nanny(child)]


def _is_nanny(process: int) -> bool:
    with suppress(OSError):
        return b"ipyparallel.engine.nanny" in Path(f"/proc/{process}/cmdline").read_bytes()
    return False
