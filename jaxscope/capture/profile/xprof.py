"""XProf, OpenXLA's profiler, as a server: started on demand, stopped with the kernel."""

from __future__ import annotations

import atexit
import importlib.util
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
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
        self.port = _free_port()
        environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
        self._process = subprocess.Popen(
            [
                sys.executable, "-m", "xprof.server", "--logdir", str(logdir),
                "--port", str(self.port), "--grpc_port", str(_free_port()),
                "--hide_capture_profile_button",
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment,
        )  # fmt: skip
        atexit.register(self.stop)
        try:
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
        path = f"data/plugin/profile/{tool}?run=jaxscope&host={host}&tag={tool}"
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
        self._directory.cleanup()

    def _wait(self) -> None:
        deadline = time.monotonic() + _READY_S
        while time.monotonic() < deadline:
            if self._process.poll() is not None:
                raise XProfError(
                    f"XProf exited immediately (status {self._process.returncode}). Run "
                    "`python -m xprof.server --logdir .` in a terminal to see why."
                )
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{self.port}/", timeout=1).close()
                return
            except (urllib.error.URLError, OSError):
                time.sleep(0.1)
        raise XProfError(f"XProf did not answer on port {self.port} within {_READY_S:g} s.")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def about(device: str) -> tuple[str, ...]:
    """Notes to show before XProf."""
    return (*_ALWAYS, _ON_A_CPU) if device.startswith("cpu") else _ALWAYS


_ALWAYS = (
    (
        "XProf listens on all network interfaces without a password; it stops with this kernel, "
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
