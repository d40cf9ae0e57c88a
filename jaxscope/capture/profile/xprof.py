"""XProf, OpenXLA's profiler, as a server: started on demand, stopped with the kernel."""

from __future__ import annotations

import atexit
import contextlib
import importlib.util
import json
import os
import secrets
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from http import HTTPStatus
from pathlib import Path

from jaxscope.capture.options.settings import SettingsError
from jaxscope.capture.profile import export

_READY_S = 15.0
"""It answers within a second on an idle machine."""


class XProfError(SettingsError):
    """XProf cannot be shown; the message has the fix."""


class XProfServer:
    """One XProf process for one trace."""

    def __init__(self, xspace: bytes) -> None:
        """Raises XProfError when XProf is not installed or does not start."""
        if importlib.util.find_spec("xprof") is None:
            raise XProfError(
                "XProf is not installed. Run `%pip install 'jaxscope[xprof]'` (100 MB), "
                "or save the trace with `report.save_trace(directory)` and open it elsewhere."
            )
        self._directory = tempfile.TemporaryDirectory(prefix="jaxscope-xprof-")
        logdir = export.save(xspace, self._directory.name)
        with socket.socket() as probe:  # a free port
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])
        self._token = secrets.token_urlsafe(24)
        # `-P`: else a module of this folder would be found in place of a package of that name.
        self._process = subprocess.Popen(
            [sys.executable, "-P", str(Path(__file__).with_name("xprof_process.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
        )
        atexit.register(self.stop)
        try:
            self._configure(str(logdir))
            self._wait()
        except BaseException:
            self.stop()
            raise

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    def url(self, tool: str = "trace_viewer@") -> str:
        """The URL of one of its tools in the browser, also behind a hub's proxy."""
        host = next(Path(self._directory.name).rglob("*.xplane.pb")).name.removesuffix(".xplane.pb")
        path = f"{self._token}/data/plugin/profile/{tool}?run=jaxscope&host={host}&tag={tool}"
        hub = os.environ.get("JUPYTERHUB_SERVICE_PREFIX")
        if hub:
            # Only the full path works there: the start page requests files at unproxied paths.
            return f"{hub.rstrip('/')}/proxy/{self.port}/{path}"
        return f"http://127.0.0.1:{self.port}/{path}"

    def stop(self) -> None:
        """End the process and remove its files; a second call does nothing."""
        atexit.unregister(self.stop)
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(5)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait(5)
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._directory.cleanup()

    def _configure(self, logdir: str) -> None:
        """Hand over the settings; the pipe stays open, and ends when this process does."""
        names = [f"{name}:{self.port}" for name in ("127.0.0.1", "localhost")]
        given = {
            "logdir": logdir,
            "port": self.port,
            "token": self._token,
            # A hub's proxy passes on the name by which the user reached the hub.
            "hosts": None if os.environ.get("JUPYTERHUB_SERVICE_PREFIX") else names,
            "parent": os.getpid(),
        }
        pipe = self._process.stdin
        assert pipe is not None
        with contextlib.suppress(BrokenPipeError):  # it ended at once, which `_wait` reports
            pipe.write(json.dumps(given).encode() + b"\n")
            pipe.flush()

    def _wait(self) -> None:
        deadline = time.monotonic() + _READY_S
        while time.monotonic() < deadline:
            if self._process.poll() is not None:
                raise XProfError(
                    f"XProf exited immediately (status {self._process.returncode}). Run "
                    "`python -m xprof.server --logdir .` in a terminal to see why."
                )
            try:
                address = f"http://127.0.0.1:{self.port}/"
                urllib.request.urlopen(f"{address}{self._token}/", timeout=1).close()
                break
            except (urllib.error.URLError, OSError):
                time.sleep(0.1)
        else:
            raise XProfError(f"XProf did not answer on port {self.port} within {_READY_S:g} s.")
        try:
            urllib.request.urlopen(address, timeout=_READY_S).close()
        except urllib.error.HTTPError as error:
            if error.code == HTTPStatus.FORBIDDEN:
                return
        raise XProfError(
            "This version of XProf would serve the profile to everybody. Save the trace with "
            "`report.save_trace(directory)` and open it elsewhere."
        )


def about(device: str) -> tuple[str, ...]:
    """Notes to show before XProf."""
    return (*_ALWAYS, _ON_A_CPU) if device.startswith("cpu") else _ALWAYS


_ALWAYS = (
    (
        "XProf listens on 127.0.0.1 only, at an address with a secret; it stops with this kernel, "
        "or with %unload_ext jaxscope."
    ),
    (
        "Its charts load Google Charts from the network and stay blank offline; the trace viewer "
        "works offline."
    ),
)
_ON_A_CPU = (
    "For a CPU, XProf fills only the trace, memory and graph viewers. Its operation tables stay "
    "empty, and its overview assumes an accelerator. This report's tables have these figures."
)
