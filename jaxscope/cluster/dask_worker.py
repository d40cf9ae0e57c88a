"""A worker of Dask as an engine: a thread with an IPython shell, in which everything runs.

Dask runs tasks in any of its threads, and its main thread runs the event loop. Cells, JAX's
collectives and the watch of the main thread need one thread that is always the same.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from functools import cache
from queue import SimpleQueue
from typing import Any, NamedTuple

from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from jaxscope.capture.cluster import process
from jaxscope.capture.cluster.process import ClusterError

_REPLY_S = 0.1
"""Until the reply is sent, before the process ends."""
TOPIC = "jaxscope"
"""The topic of Dask's events under which a worker reports."""


class WorkerShell(InteractiveShell):
    """The names and cells of this worker."""

    worker: Any = None
    cell_thread = 0
    """The thread that runs the cells."""

    def tell(self, text: str) -> None:
        """Send a text to the notebook, also while the cell hangs."""
        self.worker.log_event(TOPIC, text)


class CellThread:
    """A thread that runs one call after the other; a daemon, since one that hangs never ends."""

    def __init__(self) -> None:
        self._jobs: SimpleQueue[tuple[Any, tuple[Any, ...], Future[Any]]] = SimpleQueue()
        self._lock = threading.Lock()
        self._busy = False
        self._thread = threading.Thread(target=self._run, name="jaxscope-cells", daemon=True)
        self._thread.start()

    def call(self, function: Any, arguments: tuple[Any, ...]) -> Any:
        """The result of a call in the thread."""
        found: Future[Any] = Future()
        self._jobs.put((function, arguments, found))
        return found.result()

    def interrupt(self) -> None:
        """Raise KeyboardInterrupt in the running call, as soon as it is in Python again."""
        with self._lock:
            if self._busy:
                ident = ctypes.c_ulong(self._thread.ident or 0)
                error = ctypes.py_object(KeyboardInterrupt)
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ident, error)

    def _run(self) -> None:
        while True:
            function, arguments, found = self._jobs.get()
            try:
                with self._lock:
                    self._busy = True
                result = function(*arguments)
                with self._lock:
                    self._busy = False
                found.set_result(result)
            except KeyboardInterrupt:
                self._busy = False
                found.set_exception(ClusterError("The call was interrupted."))
            except BaseException as error:
                self._busy = False
                found.set_exception(error)


@cache
def _cell_thread() -> CellThread:
    return CellThread()


def in_cell_thread(function: Any, arguments: tuple[Any, ...]) -> Any:
    """The result of a call in the thread of the cells; a task of Dask."""
    from distributed import get_worker  # pyright: ignore[reportMissingImports]

    return _cell_thread().call(_with_shell, (get_worker(), function, arguments))


def _with_shell(worker: Any, function: Any, arguments: tuple[Any, ...]) -> Any:
    if not WorkerShell.initialized():
        config = Config()
        config.HistoryManager.enabled = False
        shell = WorkerShell.instance(config=config)
        shell.worker, shell.cell_thread = worker, threading.get_ident()
    return function(*arguments)


class Restarting(NamedTuple):
    """Functions for a worker that ends; they are sent whole, so that it needs no jaxscope."""

    has_nanny: Callable[..., bool]
    """Whether the worker is started again when it ends; Dask passes it."""
    end: Callable[[], Awaitable[None]]
    """End the process without waiting for its collectives."""


def restarting() -> Restarting:
    """A function inside a function has no name by which it could be sent."""
    import asyncio
    import os

    def has_nanny(dask_worker: Any) -> bool:
        return dask_worker.nanny is not None

    async def end(after_s: float = _REPLY_S) -> None:
        await asyncio.sleep(after_s)
        os._exit(0)

    return Restarting(has_nanny, end)


def interrupt() -> bool:
    """Interrupt the cell of this worker; True where it waits in a collective, which poisons all.

    Dask's event loop calls it.
    """
    waits = process.poison_if_waiting()
    _cell_thread().interrupt()
    return waits
