"""Traces as files, and XProf as a server that ends."""

from __future__ import annotations

import gzip
import json
import os
import urllib.request
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import pytest

import jaxscope
from jaxscope.capture.profile import xprof
from jaxscope.model import Unavailable


def loss(w, x):
    h = jnp.tanh(x @ w)
    return jnp.mean((h @ w) ** 2)


@pytest.fixture(scope="module")
def report() -> jaxscope.Report:
    w = jax.random.normal(jax.random.key(0), (200, 200))
    return jaxscope.profile(jax.jit(jax.grad(loss)), w, w)


def test_a_trace_for_perfetto_has_threads_and_instructions(
    report: jaxscope.Report, tmp_path: Path
) -> None:
    path = report.save_trace(tmp_path / "t.json.gz")
    events = json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]
    ops = [e for e in events if "hlo_op" in e.get("args", {})]
    assert {e["name"] for e in ops} >= {row.name for row in report.profile.ops if not row.overhead}
    assert all(e["ph"] == "X" and e["dur"] >= 0 for e in ops)
    named = {e["tid"] for e in events if e["name"] == "thread_name"}
    assert {e["tid"] for e in ops} <= named
    plain = report.save_trace(tmp_path / "a new folder" / "t.json")
    assert len(json.loads(plain.read_text())["traceEvents"]) == len(events)


def test_a_log_directory_is_what_xprof_reads(report: jaxscope.Report, tmp_path: Path) -> None:
    directory = report.save_trace(tmp_path / "logs")
    (file,) = directory.rglob("*.xplane.pb")
    assert file.parent == directory / "plugins" / "profile" / "jaxscope"
    data = jax.profiler.ProfileData.from_file(str(file))
    assert "/host:CPU" in [plane.name for plane in data.planes]


def test_a_report_without_a_trace_says_so(tmp_path: Path) -> None:
    plain = jaxscope.inspect(lambda x: x + 1, jnp.ones(3))
    with pytest.raises(
        LookupError, match="This report has no profiler trace: only reports of %jaxprof"
    ):
        plain.save_trace(tmp_path / "t.json")


def test_without_xprof_it_is_said_what_to_install(
    report: jaxscope.Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(xprof.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match=r"%pip install 'jaxscope\[xprof\]'"):
        report.xprof()


def test_behind_a_hub_the_link_goes_through_the_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    server = object.__new__(xprof.XProfServer)
    server.port = 5000
    server._directory = type("D", (), {"name": "/nowhere"})()
    monkeypatch.setattr(Path, "rglob", lambda self, pattern: iter([Path("box.xplane.pb")]))
    assert server.url().startswith("http://127.0.0.1:5000/data/plugin/profile/trace_viewer@?")
    monkeypatch.setenv("JUPYTERHUB_SERVICE_PREFIX", "/user/ada/")
    assert server.url("memory_viewer").startswith(
        "/user/ada/proxy/5000/data/plugin/profile/memory_viewer?run=jaxscope&host=box"
    )


def test_what_xprof_shows_for_a_cpu_is_said() -> None:
    assert any("operation tables stay empty" in note for note in xprof.about("cpu:0"))
    assert not any("CPU" in note for note in xprof.about("gpu:0"))
    assert all("all network interfaces" in xprof.about(device)[0] for device in ("cpu:0", "gpu:0"))


def test_the_server_answers_and_ends(report: jaxscope.Report) -> None:
    pytest.importorskip("xprof", reason="the extra `xprof` is not installed")
    server = report.xprof()
    try:
        assert server.running
        with urllib.request.urlopen(server.url(), timeout=10) as answer:
            assert answer.status == 200
        directory = server._directory.name
    finally:
        server.stop()
    assert not server.running
    assert not os.path.exists(directory)
    server.stop()


def test_the_memory_plan_is_xprofs(report: jaxscope.Report, tmp_path: Path) -> None:
    pytest.importorskip("xprof", reason="the extra `xprof` is not installed")
    from jaxscope.capture.profile import profiler

    found: Any = report.programs[0].buffers
    if isinstance(found, Unavailable):  # jaxlib 0.8
        pytest.skip(found.reason)
    with profiler.recording(hlo_protos=True) as recording:
        pass
    from jaxscope.capture.profile.export import save

    directory = save(recording.xspace, tmp_path)
    (file,) = directory.rglob("*.xplane.pb")
    from xprof.convert import raw_to_tool_data

    raw_to_tool_data.xspace_to_tool_names([str(file)])  # writes the modules that it then reads
    names = [n for n in _modules(recording.xspace) if n.startswith("jit_loss(")]
    best = []
    for name in names:
        data, _ = raw_to_tool_data.xspace_to_tool_data(
            [str(file)], "memory_viewer", {"module_name": name, "memory_space": "0"}
        )
        best.append(json.loads(data))
    ours = (found.static + found.temp) / 2**20
    assert any(abs(each["peakHeapMib"] - ours) < 1e-3 * ours for each in best), (
        ours,
        [each["peakHeapMib"] for each in best],
    )


def _modules(xspace: bytes) -> list[str]:
    from jaxscope.analysis.memory.plan import module_messages

    return list(module_messages(xspace))
