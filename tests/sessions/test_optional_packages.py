"""A session without any optional package, and one with packages of a version that nobody knows.

Both run with a folder and a home that nobody can write to, and without the network.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.paths import ROOT

pytestmark = [
    pytest.mark.jax,
    pytest.mark.skipif(not Path("/proc/self").exists(), reason="there is no /proc here"),
]

SESSION = """
import json, os, socket, sys, types

for name in ("plotly pandas anywidget ipywidgets array_api_compat cloudpickle capstone ipyparallel "
             "distributed flax equinox haiku optax chex torch tensorflow autograd numba cupy mlx "
             "xprof tensorboard_plugin_profile").split():
    sys.modules[name] = None if sys.argv[1] == "absent" else types.ModuleType(name)

asked = []

def refuse(host, *rest, **options):
    asked.append(str(host))
    raise socket.gaierror("no network")

def connect(self, address, connect=socket.socket.connect):
    if self.family == socket.AF_UNIX or str(address[0]).startswith("127."):
        return connect(self, address)
    refuse(address)

socket.getaddrinfo, socket.socket.connect = refuse, connect

from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

shell = InteractiveShell.instance()
shell.history_manager.enabled = False
told = {}
for cell in json.load(sys.stdin):
    with capture_output() as shown:
        ran = shell.run_cell(cell, store_history=True)
    error = ran.error_in_exec or ran.error_before_exec
    texts = [output.data.get("text/plain", "") for output in shown.outputs]
    said = f"{type(error).__name__}: {error}" if error else "".join([shown.stdout, *texts])
    told[cell] = [error is None, said]
print(json.dumps([told, asked]))
"""

BENCH = (
    "%%jaxbench --time-limit 1 --no-check a=normal(8) --vs jax,torch,torch-compile,torchscript,"
    "tensorflow,tf-function,autograd,numba,cupy,mlx\nxp.sum(xp.sin(a))"
)
WORK = (
    "%load_ext jaxscope\nimport jax, jax.numpy as jnp, numpy as np\nx = jnp.ones((30, 30))",
    "%%jaxjit -n 1 -o report\ny = jnp.tanh(x @ x)",
    "%%jaxgrad -q -n 1 -w x\njnp.sum(x**2)",
    "%%jaxwatch\njax.jit(lambda v: v + 1)(x);",
    "%%jaxprof -q\nz = jnp.sin(x).sum()",
    "%jaxlog",
    "%jaxscope",
    "%jaxbench -q --time-limit 1 np.sort(x) vs jnp.sort(x)",
    "print(report.to_text(), len(report.to_markdown()), len(report.to_json()))",
    "print(report.stage('asm').unavailable)",
)
NEED = {
    "report.to_dataframe('lines')": "tables",
    "report.widget()": "widget",
    "%jaxbench --processes 2 --time-limit 1 np.sort(x) vs jnp.sort(x)": "bench",
}
"""Cells that need an optional package, and the extra with it."""
SAVE = "report.to_html('report.html')"


def session(packages: str) -> tuple[dict[str, Any], list[str]]:
    environment = {**os.environ, "HOME": "/proc/none", "XDG_CACHE_HOME": "/proc/none/cache"}
    done = subprocess.run(
        [sys.executable, "-c", SESSION, packages],
        input=json.dumps([*WORK, BENCH, *NEED, SAVE]),
        cwd="/proc",
        env={**environment, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=800,
    )
    assert done.returncode == 0, done.stderr
    told, asked = json.loads(done.stdout.splitlines()[-1])
    return told, asked


@pytest.mark.parametrize("packages", ["absent", "unknown"])
def test_a_session_needs_no_optional_package_no_network_and_no_folder(packages: str) -> None:
    told, asked = session(packages)
    assert asked == []
    assert {cell: said for cell in (*WORK, BENCH) if not told[cell][0] for said in told[cell]} == {}
    assert [cell for cell, (_, said) in told.items() if "jaxscope could not" in said] == []
    rows = " ".join(told[BENCH][1].split())
    assert "not run PyTorch, torch.compile, TorchScript" in rows
    assert "not run TensorFlow, tf.function" in rows
    nowhere = "FileNotFoundError: [Errno 2] No such file or directory: 'report.html'"
    assert told[SAVE] == [False, nowhere]
    if packages == "absent":
        for cell, extra in NEED.items():
            assert f"`pip install jaxscope[{extra}]`" in told[cell][1], cell
        assert "`pip install jaxscope[asm]`" in told[WORK[-1]][1]
        assert rows.count("is not installed here: `pip install") >= 6
