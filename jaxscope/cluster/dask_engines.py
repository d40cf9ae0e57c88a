"""The workers of Dask distributed as the processes of a cluster."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from jaxscope.capture.cluster.process import POISONED, ClusterError
from jaxscope.cluster import dask_worker
from jaxscope.cluster.cluster import died

_NEEDED = (
    'The workers of Dask need distributed, which is not installed: `pip install "jaxscope[dask]"`.'
)
_THREADS = (
    "The workers of this Dask cluster are threads of the notebook: start it with "
    "`Client(processes=True)`."
)
_POLL_S = 0.02
_LOOK_S = 0.5
"""Between two questions to the scheduler, whether all workers live."""
_CONNECT_S = 10
_REPLY_S = 5.0
"""For the end of a cell that was interrupted."""
_STUCK_S = 1.0
"""The same for one inside a collective, which seldom ends."""
_RESTART_S = 60
_SETTLE_S = 0.3
"""Until the workers have ended, so that those that are alive are new."""


def dask_client(address: str) -> Any:
    """A client of the scheduler at this address. Raises ClusterError where none answers."""
    try:
        from distributed import Client  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise ClusterError(_NEEDED) from None
    try:
        return Client(address, timeout=_CONNECT_S, set_as_default=False)
    except (OSError, TimeoutError, ValueError):
        raise ClusterError(
            f"No Dask scheduler answered at {address} within {_CONNECT_S} s. Start one: "
            "`from distributed import Client; client = Client(n_workers=2)`, then "
            "`%jaxcluster attach client`."
        ) from None


def _release(asked: Mapping[int, Any]) -> None:
    """Else Dask keeps the results, and computes them again where a worker is lost."""
    for one in asked.values():
        one.release()


class DaskEngines:
    """`EngineSet` on a `distributed.Client`."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._events: deque[str] = deque()
        self._interrupted: dict[int, Any] = {}
        self._poisoned = False
        self._addresses = self._alive()
        if not self._addresses:
            raise ClusterError("The Dask cluster has no workers: `dask worker ADDRESS` starts one.")
        if any(address.startswith("inproc") for address in self._addresses):
            raise ClusterError(_THREADS)
        client.subscribe_topic(dask_worker.TOPIC, self._note)

    def __len__(self) -> int:
        return len(self._addresses)

    def _alive(self) -> list[str]:
        """Addresses of the workers. Raises ClusterError without a scheduler."""
        if self._client.status == "running":
            with suppress(OSError, TimeoutError):
                return sorted(self._client.nthreads())
        raise ClusterError(
            "The scheduler of Dask does not answer: start the cluster again, then %jaxcluster "
            "attach."
        )

    def _note(self, event: tuple[float, Any]) -> None:
        self._events.append(str(event[1]))

    def check(self) -> None:
        self._refuse_dead()
        self._interrupted = {e: one for e, one in self._interrupted.items() if not one.done()}
        if self._interrupted and self._poisoned:
            raise ClusterError(POISONED)
        if self._interrupted:
            raise ClusterError(
                f"Engine {min(self._interrupted)} still runs the cell that was interrupted: wait "
                "for it, or %jaxcluster restart."
            )

    def call(self, function: Any, arguments: Sequence[tuple[Any, ...]], wait_s: float) -> list[Any]:
        self._refuse_dead()
        asked = {
            engine: self._submit(engine, function, given)
            for engine, given in zip(range(len(self)), arguments, strict=False)
        }
        try:
            self._wait(asked, time.monotonic() + wait_s)
            return [self._result(one) if one.done() else None for one in asked.values()]
        finally:
            _release(asked)

    def run(
        self, function: Any, arguments: Mapping[int, tuple[Any, ...]], say: Callable[[str], None]
    ) -> dict[int, Any]:
        self.check()
        self._events.clear()
        asked = {
            engine: self._submit(engine, function, given) for engine, given in arguments.items()
        }
        try:
            self._wait(asked, float("inf"), say)
        except KeyboardInterrupt:
            self._interrupt(asked)
            raise
        else:
            found = {engine: self._result(one) for engine, one in asked.items()}
            _release(asked)
            return found

    def _submit(self, engine: int, function: Any, given: tuple[Any, ...]) -> Any:
        where = {"workers": [self._addresses[engine]], "pure": False}
        if function is eval:  # also on a worker without jaxscope
            return self._client.submit(eval, *given, **where)
        return self._client.submit(dask_worker.in_cell_thread, function, given, **where)

    def _wait(
        self, asked: Mapping[int, Any], end: float, say: Callable[[str], None] | None = None
    ) -> None:
        look = time.monotonic() + _LOOK_S
        while not all(one.done() for one in asked.values()) and (now := time.monotonic()) < end:
            if now > look:
                self._refuse_dead()
                look = now + _LOOK_S
            self._relay(say)
            time.sleep(_POLL_S)
        self._relay(say)

    def _relay(self, say: Callable[[str], None] | None) -> None:
        while say is not None and self._events:
            say(self._events.popleft())

    def _interrupt(self, asked: Mapping[int, Any]) -> None:
        """Interrupt the cells; one inside a collective goes on, and is refused from then on."""
        busy = {engine: one for engine, one in asked.items() if not one.done()}
        with suppress(Exception):
            found = self._client.run(
                dask_worker.interrupt, workers=[self._addresses[engine] for engine in busy]
            )
            self._poisoned = any(found.values())
        with suppress(ClusterError):
            self._wait(busy, time.monotonic() + (_STUCK_S if self._poisoned else _REPLY_S))
        self._interrupted = busy

    def _result(self, one: Any) -> Any:
        from distributed import KilledWorker  # pyright: ignore[reportMissingImports]

        try:
            return one.result()
        except KilledWorker:
            self._refuse_dead()
            raise

    def _refuse_dead(self) -> None:
        alive = set(self._alive())
        gone = [engine for engine, name in enumerate(self._addresses) if name not in alive]
        if gone:
            raise ClusterError(died(gone))

    def activate(self) -> None: ...

    def restart(self) -> None:
        number, old = len(self), set(self._alive())
        sent = dask_worker.restarting()
        if not all(self._client.run(sent.has_nanny, on_error="ignore").values()):
            raise ClusterError(
                "Dask restarts only workers that have a nanny: restart these with their launcher, "
                "then %jaxcluster attach."
            )
        _release(self._interrupted)
        self._interrupted, self._poisoned = {}, False
        # `Client.restart` waits 4 s for each process that is in a collective.
        with suppress(OSError):  # of one that just died
            self._client.run(sent.end, wait=False, on_error="ignore")
        time.sleep(_SETTLE_S)
        end = time.monotonic() + _RESTART_S
        while len(new := [name for name in self._alive() if name not in old]) < number:
            if time.monotonic() > end:
                raise ClusterError(
                    f"{len(new)} of {number} workers came back within {_RESTART_S} s."
                )
            time.sleep(0.1)
        self._addresses = new[:number]
