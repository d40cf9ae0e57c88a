"""Traces as files, and XProf as a server that ends."""

from __future__ import annotations

import gzip
import io
import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import pytest

import jaxscope
from jaxscope.capture.profile import xprof
from jaxscope.capture.profile.xprof_process import guarded
from jaxscope.model import Unavailable


def loss(w, x):
    h = jnp.tanh(x @ w)
    return jnp.mean((h @ w) ** 2)


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine the server imports for longer than a user would wait."""
    monkeypatch.setattr(xprof, "_READY_S", 120.0)


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
    with pytest.raises(LookupError, match="no profiler trace: only reports of %jaxprof"):
        plain.save_trace(tmp_path / "t.json")


def test_without_xprof_it_is_said_what_to_install(
    report: jaxscope.Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(xprof.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match=r"%pip install 'jaxscope\[xprof\]'"):
        report.xprof()


def test_behind_a_hub_the_link_goes_through_the_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    server = object.__new__(xprof.XProfServer)
    server.port, server._token = 5000, "secret"
    server._directory = type("D", (), {"name": "/nowhere"})()
    monkeypatch.setattr(Path, "rglob", lambda self, pattern: iter([Path("box.xplane.pb")]))
    assert server.url().startswith(
        "http://127.0.0.1:5000/secret/data/plugin/profile/trace_viewer@?"
    )
    monkeypatch.setenv("JUPYTERHUB_SERVICE_PREFIX", "/user/ada/")
    assert server.url("memory_viewer").startswith(
        "/user/ada/proxy/5000/secret/data/plugin/profile/memory_viewer?run=jaxscope&host=box"
    )


def test_what_xprof_shows_for_a_cpu_is_said() -> None:
    assert any("operation tables stay empty" in note for note in xprof.about("cpu:0"))
    assert not any("CPU" in note for note in xprof.about("gpu:0"))
    assert all("on 127.0.0.1 only" in xprof.about(device)[0] for device in ("cpu:0", "gpu:0"))


def test_the_server_answers_and_ends(report: jaxscope.Report) -> None:
    pytest.importorskip("xprof", reason="the extra `xprof` is not installed")
    server = report.xprof()
    try:
        assert server.running
        with urllib.request.urlopen(server.url(), timeout=60) as answer:
            assert answer.status == 200
        assert server._token not in Path(f"/proc/{server._process.pid}/cmdline").read_text()
        assert listening(server._process.pid) == {"127.0.0.1"}
        for url, host in (
            (f"http://127.0.0.1:{server.port}/", None),
            (server.url().replace(server._token, "x" * len(server._token)), None),
            (server.url(), "evil.example"),
        ):
            request = urllib.request.Request(url, headers={"Host": host} if host else {})
            with pytest.raises(urllib.error.HTTPError, match="403"):
                urllib.request.urlopen(request, timeout=60)
        directory = server._directory.name
    finally:
        server.stop()
    assert not server.running
    assert not os.path.exists(directory)
    server.stop()


def listening(pid: int) -> set[str]:
    """Addresses on which a process listens, of IPv4 and IPv6."""
    held = {os.readlink(fd) for fd in Path(f"/proc/{pid}/fd").iterdir() if fd.is_symlink()}
    found: set[str] = set()
    for table, family in (("tcp", socket.AF_INET), ("tcp6", socket.AF_INET6)):
        for row in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            _, local, _, state, *rest = row.split()
            if state == "0A" and f"socket:[{rest[5]}]" in held:
                raw = bytes.fromhex(local.partition(":")[0])
                words = [raw[i : i + 4][::-1] for i in range(0, len(raw), 4)]
                found.add(socket.inet_ntop(family, b"".join(words)))
    return found


KERNEL = """
import sys, time
from jaxscope.capture.profile import xprof
xprof._READY_S = 120.0
server = xprof.XProfServer(b"")
print(server._process.pid, server._directory.name, flush=True)
time.sleep(600)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_server_ends_with_a_kernel_that_is_killed() -> None:
    pytest.importorskip("xprof", reason="the extra `xprof` is not installed")
    with subprocess.Popen([sys.executable, "-c", KERNEL], stdout=subprocess.PIPE, text=True) as one:
        assert one.stdout is not None
        pid, folder = one.stdout.readline().split()
        assert os.path.isdir(folder)
        one.kill()
    for _ in range(1200):
        if not os.path.exists(f"/proc/{pid}") and not os.path.exists(folder):
            break
        time.sleep(0.1)
    assert not os.path.exists(f"/proc/{pid}")
    assert not os.path.exists(folder)


def ask(path: str, host: str, hosts: list[str] | None) -> tuple[str, str, dict[str, str]]:
    """The status, the path that reaches XProf, and the headers."""
    seen: list[Any] = []

    def app(environ: dict[str, Any], start: Any) -> list[bytes]:
        seen.append(environ["PATH_INFO"])
        start("200 OK", [])
        return [b""]

    answered: list[Any] = []
    guarded(app, "secret", hosts)(
        {"PATH_INFO": path, "HTTP_HOST": host}, lambda *given: answered.extend(given)
    )
    return answered[0][:3], "".join(seen), dict(answered[1])


def test_only_the_secret_path_and_the_own_hosts_reach_xprof() -> None:
    own = ["127.0.0.1:5000", "localhost:5000"]
    assert ask("/secret/data/x", own[0], own)[:2] == ("200", "/data/x")
    assert ask("/secret", own[1], own)[:2] == ("200", "")
    assert ask("/secret/", own[0], own)[2] == {"Referrer-Policy": "no-referrer"}
    for path in ("/", "", "/data/x", "/secre/data/x", "/secrets", "/x/secret/", "/sécret/"):
        assert ask(path, own[0], own)[:2] == ("403", "")
    for host in ("evil.example", "127.0.0.1", "evil.example:5000", ""):
        assert ask("/secret/data/x", host, own)[:2] == ("403", "")


def test_behind_a_hub_the_host_is_the_hubs_and_the_secret_is_still_asked_for() -> None:
    assert ask("/secret/data/x", "hub.example", None)[:2] == ("200", "/data/x")
    assert ask("/data/x", "hub.example", None)[:2] == ("403", "")


def test_a_version_that_serves_to_everybody_is_not_left_running(
    report: jaxscope.Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("xprof", reason="the extra `xprof` is not installed")
    opened = urllib.request.urlopen
    started: list[Any] = []

    def everybody(url: str, timeout: float) -> Any:
        started.append(url)
        _, _, rest = url.partition("//")
        return io.BytesIO() if rest.count("/") == 1 else opened(url, timeout=timeout)

    monkeypatch.setattr(xprof.urllib.request, "urlopen", everybody)
    with pytest.raises(ValueError, match="would serve the profile to everybody"):
        report.xprof()
    port = int(started[-1].rpartition(":")[2].strip("/"))
    with socket.socket() as probe, pytest.raises(ConnectionRefusedError):
        probe.connect(("127.0.0.1", port))


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
