"""`attach`, and ipyparallel's engines as the processes of a cluster."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from jaxscope.capture.cluster import lifetime
from jaxscope.capture.cluster.process import ClusterError
from jaxscope.capture.source.cell_names import current_shell, next_number
from jaxscope.cluster import engine_cell
from jaxscope.cluster.cluster import Cluster, died

_NEEDED = (
    "A cluster of engines needs ipyparallel, which is not installed: "
    '`pip install "jaxscope[cluster]"`.'
)
_NONE = (
    "No ipyparallel cluster is running{of}. Start one: `import ipyparallel as ipp; "
    "rc = ipp.Cluster(n=2).start_and_connect_sync()`, then `%jaxcluster attach rc`."
)
_RESTART_S = 60
_POLL_S = 0.02
_REPLY_S = 5.0
"""For the result of a call that has ended, and for the end of one that was interrupted."""


def attach(client: Any = None, *, profile: str | None = None) -> Cluster:
    """The cluster behind a `distributed.Client` or the address of its scheduler, an
    `ipyparallel.Client`, or the running cluster of a profile of ipyparallel.

    Never starts a cluster. Raises ClusterError where none is running.
    """
    of_dask = type(client).__module__.partition(".")[0] == "distributed"
    if of_dask or isinstance(client, str):
        from jaxscope.cluster.dask_engines import DaskEngines, dask_client

        return Cluster(DaskEngines(client if of_dask else dask_client(client)))
    try:
        import ipyparallel
    except ImportError:
        raise ClusterError(_NEEDED) from None
    if client is None:
        of = f" for the profile {profile!r}" if profile else ""
        if not _was_started(profile or "default"):
            raise ClusterError(_NONE.format(of=of))
        try:
            client = ipyparallel.Client(profile=profile or "default", timeout=10)
            if client.cluster is None:
                client.cluster = ipyparallel.Cluster.from_file(profile=profile or "default")
        except (OSError, TimeoutError, ipyparallel.error.TimeoutError):
            raise ClusterError(_NONE.format(of=of)) from None
    if not isinstance(client, ipyparallel.Client):
        raise ClusterError(
            "attach takes an ipyparallel.Client, a distributed.Client or the address of a Dask "
            f"scheduler, not {client!r}."
        )
    if not client.ids:
        raise ClusterError("The cluster has no engines: `ipcluster engines -n 2` starts two.")
    return Cluster(IpyparallelEngines(client))


def _was_started(profile: str) -> bool:
    """Whether a controller left its connection file, for which ipyparallel would wait."""
    from IPython.core.profiledir import ProfileDir, ProfileDirError
    from IPython.paths import get_ipython_dir

    with suppress(ProfileDirError):
        found = ProfileDir.find_profile_dir_by_name(get_ipython_dir(), profile)
        return Path(found.security_dir, "ipcontroller-client.json").is_file()
    return False


def _relay(asked: Mapping[int, Any], shown: dict[int, int], say: Callable[[str], None]) -> None:
    """Pass the standard error of the engines on, from where it ended the last time."""
    for engine, one in asked.items():
        text = ""
        with suppress(Exception):  # nothing was received yet
            text = "".join(one.stderr)
        if len(text) > shown[engine]:
            say(text[shown[engine] :])
            shown[engine] = len(text)


class IpyparallelEngines:
    """`EngineSet` on an `ipyparallel.Client`."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._ids = list(client.ids)

    def __len__(self) -> int:
        return len(self._ids)

    def call(self, function: Any, arguments: Sequence[tuple[Any, ...]], wait_s: float) -> list[Any]:
        self._refuse_dead()
        asked = [
            self._client[engine].apply_async(function, *given)
            for engine, given in zip(self._ids, arguments, strict=False)
        ]
        end = time.monotonic() + wait_s
        return [
            self._result(engine, one, max(0.05, end - time.monotonic()))
            for engine, one in enumerate(asked)
        ]

    def run(
        self, function: Any, arguments: Mapping[int, tuple[Any, ...]], say: Callable[[str], None]
    ) -> dict[int, Any]:
        self._refuse_dead()
        asked = {
            engine: self._client[self._ids[engine]].apply_async(function, *given)
            for engine, given in arguments.items()
        }
        shown = dict.fromkeys(asked, 0)
        try:
            while not all(one.ready() for one in asked.values()):
                self._refuse_dead()
                _relay(asked, shown, say)
                time.sleep(_POLL_S)
        except KeyboardInterrupt:
            self._interrupt(asked)
            raise
        _relay(asked, shown, say)
        return {engine: self._result(engine, one, _REPLY_S) for engine, one in asked.items()}

    def _interrupt(self, asked: Mapping[int, Any]) -> None:
        busy = [self._ids[engine] for engine, one in asked.items() if not one.ready()]
        with suppress(Exception):
            self._client.send_signal(signal.SIGINT, targets=busy, block=False)
        end = time.monotonic() + _REPLY_S
        while time.monotonic() < end and not all(one.ready() for one in asked.values()):
            time.sleep(_POLL_S)

    def _result(self, engine: int, one: Any, wait_s: float) -> Any:
        """The value of a call on an engine; None where it did not come in time."""
        import ipyparallel

        try:
            return one.get(wait_s)
        except (TimeoutError, ipyparallel.error.TimeoutError):
            return None
        except ipyparallel.error.RemoteError as error:
            if error.ename == ipyparallel.error.EngineError.__name__:
                raise ClusterError(died([engine])) from None
            if error.ename == ClusterError.__name__:
                raise ClusterError(str(error.evalue)) from None
            raise

    def check(self) -> None:
        self._refuse_dead()

    def _refuse_dead(self) -> None:
        alive = set(self._client.ids)
        if gone := [engine for engine, one in enumerate(self._ids) if one not in alive]:
            raise ClusterError(died(gone))

    def activate(self) -> None:
        self._end_with_notebook()
        shell = current_shell()
        if shell is None:
            return
        view = self._client[self._ids]
        view.block = True
        view.activate()
        for one in list(shell.events.callbacks["pre_run_cell"]):
            if isinstance(getattr(one, "__self__", None), IpyparallelEngines):
                shell.events.unregister("pre_run_cell", one)
        shell.events.register("pre_run_cell", self._number_px)

    def _number_px(self, info: Any) -> None:
        """Name a cell of `%%px` on the engines by the number that it has here."""
        if str(info.raw_cell).lstrip().startswith("%%px"):
            number = next_number(current_shell())
            with suppress(Exception):  # an engine that is gone, of which `%%px` itself tells
                self._client[self._ids].apply_async(engine_cell.take_number, number)

    def _end_with_notebook(self) -> None:
        """End a cluster that was started here with this process, whatever ends it.

        ipyparallel stops it in an exit handler; a kernel that failed leaves the engines.
        """
        cluster = getattr(self._client, "cluster", None)
        if cluster is None or not cluster.shutdown_atexit:
            return
        controller = getattr(cluster.controller, "pid", None)
        key = lifetime.process_key()
        with suppress(Exception):  # an engine without jaxscope, which `init` reports
            self._client[self._ids].apply_async(
                lifetime.end_with, *key, () if controller is None else (controller,)
            )

    def restart(self) -> None:
        cluster = getattr(self._client, "cluster", None)
        if cluster is None:
            raise ClusterError(
                "The engines were not started from here, so they cannot be restarted: restart them "
                "with their launcher, then %jaxcluster attach."
            )
        number, old = len(self._ids), set(self._client.ids) | set(self._ids)
        with suppress(Exception):  # an engine in a collective ignores anything weaker
            self._client.send_signal(signal.SIGKILL, targets=list(self._client.ids), block=False)
        cluster.restart_engines_sync()
        end = time.monotonic() + _RESTART_S
        while len(new := [i for i in self._client.ids if i not in old]) < number:
            if time.monotonic() > end:
                raise ClusterError(
                    f"{len(new)} of {number} engines came back within {_RESTART_S} s."
                )
            time.sleep(0.1)
        self._ids = sorted(new)[:number]
