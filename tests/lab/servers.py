"""A real Jupyter server with the built extension and nothing of the user's own."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbformat.sign import NotebookNotary

from tests.paths import ROOT

OVERRIDES: dict[str, dict[str, object]] = {
    # Nothing may stand before the notebook.
    "@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False},
    "@jupyterlab/docmanager-extension:plugin": {"autosave": False},
}

DISABLED = ("@jupyterlab/notebook-extension:export", "ipyparallel-labextension")
"""They go through all installed packages for each page: a fifth of the server's time."""

SETTINGS = {"page_config_data": {"buildCheck": False}}
"""Otherwise each page has the server start node, to see whether it can be built again."""

BUSY = """
from jaxscope.analysis.profile import warnings
warnings.DISTORTED = float("inf")
del warnings
"""
"""Runs in each kernel: a profile has its lines also where other tests keep the machine busy."""

APPLICATIONS = {"jupyterlab": "LabApp", "notebook": "JupyterNotebookApp"}


@dataclass
class Server:
    """JupyterLab or Notebook 7 in its own directory, asked under `url`."""

    app: str
    """`jupyterlab` or `notebook`: a module that can be run."""
    home: Path
    labextension: Path
    """The built extension: what the wheel puts in `labextensions/@jaxscope/lab`."""
    _process: subprocess.Popen[bytes] | None = None
    url: str = ""

    @property
    def files(self) -> Path:
        return self.home / "files"

    def start(self) -> None:
        for name in ("files", "config", "data", "runtime", "ipython", "home"):
            (self.home / name).mkdir(parents=True, exist_ok=True)
        extensions = self.home / "data" / "labextensions" / "@jaxscope"
        extensions.mkdir(parents=True, exist_ok=True)
        (extensions / "lab").symlink_to(self.labextension, target_is_directory=True)
        self._write_kernel()
        startup = self.home / "ipython" / "profile_default" / "startup"
        startup.mkdir(parents=True, exist_ok=True)
        (startup / "busy.py").write_text(BUSY, "utf-8")
        for plugin, values in OVERRIDES.items():
            self.configure(plugin, values)
        page = self.home / "config" / "labconfig" / "page_config.json"
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(json.dumps({"disabledExtensions": dict.fromkeys(DISABLED, True)}), "utf-8")
        port = _free_port()
        self.url = f"http://127.0.0.1:{port}"
        log = (self.home / "server.log").open("wb")
        self._process = subprocess.Popen(
            [
                *(sys.executable, "-m", self.app, "--no-browser", "--allow-root"),
                *(f"--ServerApp.port={port}", "--ServerApp.port_retries=0"),
                *("--IdentityProvider.token=", f"--ServerApp.root_dir={self.files}"),
                "--ServerApp.disable_check_xsrf=True",
                f"--ServerApp.tornado_settings={SETTINGS}",
                # Tests start commands by name.
                f"--{APPLICATIONS[self.app]}.expose_app_in_browser=True",
            ],
            stdout=log,
            stderr=log,
            cwd=self.home,
            env=self._environment(),
            start_new_session=True,
        )
        log.close()
        self._wait()

    def stop(self) -> None:
        """Ends the server, which ends its kernels."""
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def configure(self, plugin: str, values: dict[str, object]) -> None:
        """Sets what a user sets in the settings editor, for pages that are opened from now on."""
        package, _, name = plugin.rpartition(":")
        path = self.home / "config" / "lab" / "user-settings" / package
        path.mkdir(parents=True, exist_ok=True)
        (path / f"{name}.jupyterlab-settings").write_text(json.dumps(values), "utf-8")

    def write(self, name: str, notebook: dict[str, object], *, trusted: bool = False) -> str:
        """Saves a notebook; returns the address that opens it."""
        path = self.files / name
        path.write_text(json.dumps(notebook), "utf-8")
        if trusted:
            notary = NotebookNotary(data_dir=str(self.home / "data"))
            notary.sign(nbformat.from_dict(notebook))
            notary.store.close()
        return self.address(name)

    def address(self, name: str) -> str:
        if self.app == "notebook":
            return f"{self.url}/notebooks/{name}"
        # Each page has its own workspace: no layout is restored from another test.
        return f"{self.url}/lab/workspaces/{name.replace('.', '-')}/tree/{name}?reset"

    def log(self) -> str:
        return (self.home / "server.log").read_text("utf-8", "replace")

    def _environment(self) -> dict[str, str]:
        own = {
            "JUPYTER_CONFIG_DIR": str(self.home / "config"),
            "JUPYTER_DATA_DIR": str(self.home / "data"),
            "JUPYTER_RUNTIME_DIR": str(self.home / "runtime"),
            "JUPYTERLAB_SETTINGS_DIR": str(self.home / "config" / "lab" / "user-settings"),
            "JUPYTERLAB_WORKSPACES_DIR": str(self.home / "config" / "lab" / "workspaces"),
            "IPYTHONDIR": str(self.home / "ipython"),
            "HOME": str(self.home / "home"),
            # The extension under test before one that is linked into the environment.
            "JUPYTER_PREFER_ENV_PATH": "0",
            "JAX_PLATFORMS": "cpu",
            "PYTHONPATH": str(ROOT),
        }
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("JUPYTER", "VSCODE"))}
        return kept | own

    def _write_kernel(self) -> None:
        kernel = self.home / "data" / "kernels" / "python3"
        kernel.mkdir(parents=True, exist_ok=True)
        argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        spec = {"argv": argv, "display_name": "Python 3", "language": "python"}
        (kernel / "kernel.json").write_text(json.dumps(spec), "utf-8")

    def _wait(self) -> None:
        limit = time.monotonic() + 180
        while time.monotonic() < limit:
            try:
                with urllib.request.urlopen(f"{self.url}/api/status", timeout=5):
                    return
            except OSError:
                assert self._process is not None
                assert self._process.poll() is None, self.log()
                time.sleep(0.1)
        raise TimeoutError(f"The server did not answer within 180 s.\n{self.log()}")


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def notebook(*cells: str, outputs: dict[int, dict[str, object]] | None = None) -> dict[str, object]:
    """A notebook of code cells, some of them with one output by MIME type."""
    return {
        "nbformat": 4,
        "nbformat_minor": 5,
        "metadata": {
            "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"},
            "language_info": {"name": "python"},
        },
        "cells": [
            {
                "cell_type": "code",
                "id": f"cell-{i}",
                "metadata": {},
                "execution_count": None,
                "source": text,
                "outputs": [
                    {"output_type": "display_data", "metadata": {}, "data": data}
                    for data in ([outputs[i]] if outputs and i in outputs else [])
                ],
            }
            for i, text in enumerate(cells)
        ],
    }
