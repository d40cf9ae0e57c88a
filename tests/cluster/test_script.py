"""`python -m jaxscope.watch` on two processes, and `%jaxcluster load` of their files."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from jaxscope.capture.cluster import recorder
from jaxscope.capture.cluster.process import ClusterError
from jaxscope.cluster.script import load
from tests.magics.notebook import open_notebook
from tests.paths import ROOT

pytestmark = pytest.mark.jax
TRAIN = """
import os, sys, threading
watchdog = threading.Timer(240, os._exit, (1,))
watchdog.daemon = True
watchdog.start()
os.environ["JAX_PLATFORMS"] = "cpu"  # before jax is imported, so that it counts
import jax, numpy as np
jax.config.update("jax_num_cpu_devices", 2)
rank = int(os.environ["RANK"])
jax.distributed.initialize(sys.argv[1], 2, rank, heartbeat_timeout_seconds=60)
mesh = jax.make_mesh((4,), ("d",))
sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("d"))
x = jax.make_array_from_callback((8, 8), sharding, lambda i: np.ones((8, 8), "f")[i])

@jax.jit
def same(x): return x.sum()

@jax.jit
def step(x): return x.sum() * (2 + rank)

float(same(x))
float(step(x))
if rank: raise SystemExit(3)
"""


def test_the_files_of_two_processes_are_shown_as_one(tmp_path: Path) -> None:
    script, out = tmp_path / "train.py", tmp_path / "out"
    script.write_text(TRAIN)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    command = [sys.executable, "-m", "jaxscope.watch", "--out", str(out), str(script), address]
    started = [
        subprocess.Popen(
            command,
            env={**os.environ, "RANK": str(rank), "PYTHONPATH": str(ROOT)},
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            text=True,
        )
        for rank in (0, 1)
    ]
    said = [process.communicate(timeout=800)[1] for process in started]
    assert [process.returncode for process in started] == [0, 3], said
    assert "with different constants" in "".join(said)
    with open_notebook() as notebook:
        shown = notebook.must(f"%jaxcluster load {out} -o run").text
        found = notebook.names["run"]
    assert {group.name: group.everywhere for group in found.programs} == {
        "same": True,
        "step": False,
    }
    assert "`step` differs" in shown
    assert "Process 1: SystemExit: 3" in shown
    assert "train.py:21" in shown
    (out / "process-1.jsonl").write_text('{"jaxscope_journal":9,"jaxscope":"3.0"}\n')
    assert "reads 1: load it with jaxscope 3.0" in load(out).notes[0]


def test_a_folder_without_files_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(ClusterError, match="has no files of"):
        load(tmp_path)


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ({}, (0, 1)),
        ({"SLURM_PROCID": "3", "SLURM_NTASKS": "8"}, (3, 8)),
        ({"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2"}, (1, 2)),
        ({"JOB_COMPLETION_INDEX": "4"}, (4, 5)),
        ({"RANK": "x"}, (0, 1)),
    ],
)
def test_the_number_of_a_process_is_that_of_its_launcher(
    names: dict[str, str], expected: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    for both in recorder._RANKS:
        for name in both:
            monkeypatch.delenv(name, raising=False)
    for name, value in names.items():
        monkeypatch.setenv(name, value)
    assert recorder.rank() == expected
