"""Two engines of ipyparallel, or two workers of Dask, attached to a notebook."""

from __future__ import annotations

import contextlib
import importlib
import io
import signal
from collections.abc import Iterator
from typing import Any

from tests.magics.notebook import Notebook

LAUNCHERS = {"ipyparallel": "ipyparallel", "dask": "distributed"}
"""The package of each."""


@contextlib.contextmanager
def attached(name: str, notebook: Notebook) -> Iterator[Any]:
    """The client of two processes, to which the notebook is attached."""
    started = _ipyparallel if name == "ipyparallel" else _dask
    with started(importlib.import_module(LAUNCHERS[name])) as client:
        notebook.names["rc"] = client
        notebook.must("%jaxcluster attach rc")
        yield client


@contextlib.contextmanager
def _ipyparallel(launcher: Any) -> Iterator[Any]:
    cluster = launcher.Cluster(n=2, log_level=40, engine_timeout=180)
    with contextlib.redirect_stdout(io.StringIO()):  # a bar of its progress
        client = cluster.start_and_connect_sync()
    try:
        yield client
    finally:
        # Ended gently, they wait for each other for 10 s.
        if client.ids:
            client.send_signal(signal.SIGKILL, block=False)
        cluster.stop_cluster_sync()
        client.close()


@contextlib.contextmanager
def _dask(launcher: Any) -> Iterator[Any]:
    # Also without a dashboard, Dask takes port 8787, and warns where a second cluster has it.
    quiet = {"silence_logs": 50, "dashboard_address": ":0"}
    with (
        launcher.LocalCluster(n_workers=2, threads_per_worker=1, **quiet) as cluster,
        launcher.Client(cluster, set_as_default=False) as client,
    ):
        yield client
