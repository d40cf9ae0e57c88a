"""The kernel's end of the viewer, asked over comms as a front end asks."""

from __future__ import annotations

import base64
import gzip
import json
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jaxscope.view.bundle.payload import CAP, MIME
from tests.sessions.test_kernel import Kernel, kernel

pytestmark = pytest.mark.kernel
__all__ = ["kernel"]

CELL = "%%jaxjit -o r\ny = jnp.tanh(x) * 2\ny.sum()"


def send(kernel: Kernel, kind: str, content: dict[str, Any], subshell: str | None = None) -> None:
    message = kernel.client.session.msg(kind, content)
    message["header"]["subshell_id"] = subshell
    kernel.client.shell_channel.send(message)


def open_comm(kernel: Kernel, target: str, data: Any, subshell: str | None = None) -> str:
    name = uuid.uuid4().hex
    content = {"comm_id": name, "target_name": target, "data": data}
    send(kernel, "comm_open", content, subshell)
    return name


def heard(kernel: Kernel, comm: str, enough: Callable[[list[dict[str, Any]]], bool]) -> list[Any]:
    """What the comm was sent, up to and with the message that is enough."""
    found: list[dict[str, Any]] = []
    while not enough(found):
        message = kernel.client.get_iopub_msg(timeout=400)
        if message["content"].get("comm_id") == comm:
            found.append(message)
    return found


def ask(kernel: Kernel, subshell: str | None = None, **request: Any) -> tuple[Any, Any]:
    """The answer's words, and what its buffer holds."""
    comm = open_comm(kernel, "jaxscope.report", request, subshell)
    told, closed = heard(kernel, comm, lambda found: len(found) == 2)
    assert told["msg_type"] == "comm_msg"
    assert closed["msg_type"] == "comm_close"
    packed = [json.loads(gzip.decompress(bytes(buffer))) for buffer in told["buffers"]]
    return told["content"]["data"], packed[0] if packed else None


def shown(kernel: Kernel, cell: str = CELL) -> dict[str, Any]:
    (bundle,) = kernel.must(cell).displays
    return bundle


def test_a_report_is_displayed_for_the_viewer_and_as_ever(kernel: Kernel) -> None:
    bundle = shown(kernel)
    assert set(bundle) == {"text/plain", "text/html", MIME}
    payload = bundle[MIME]
    data = json.loads(gzip.decompress(base64.b64decode(payload["data"])))
    stages = data["record"]["programs"][0]["stages"]
    assert [stage["kind"] for stage in stages] == ["jaxpr", "stablehlo", "hlo", "optimized_hlo"]
    assert all(stage["text"] for stage in stages)
    assert payload["summary"].startswith("jit(cell) · cpu:0 · ")
    assert len(json.dumps(bundle)) < 300_000
    assert len(json.dumps(payload)) < CAP


def test_a_text_is_answered_with_its_links_and_figures(kernel: Kernel) -> None:
    name = shown(kernel)[MIME]["id"]
    words, found = ask(kernel, op="stage", report=name, program=0, kind="optimized_hlo")
    assert words == {"ok": True}
    assert found["stage"]["kind"] == "optimized_hlo"
    assert "tanh" in found["stage"]["text"]
    assert found["stage"]["anchors"]
    assert {"shape", "flops", "bytes", "times"} <= set(next(iter(found["instructions"].values())))
    _, found = ask(kernel, op="stage", report=name, program=0, kind="jaxpr")
    assert "tanh" in found["stage"]["text"]
    assert "instructions" not in found


def test_two_displays_of_a_report_are_one_report(kernel: Kernel) -> None:
    first = shown(kernel)[MIME]["id"]
    assert shown(kernel, "display(r)")[MIME]["id"] == first
    assert shown(kernel)[MIME]["id"] != first


@pytest.mark.parametrize(
    ("request_", "why", "says"),
    [
        ({"op": "stage", "report": "of another kernel"}, "forgotten", "never had this report"),
        ({"op": "stage", "kind": "spirv"}, "error", "There is no stage 'spirv'"),
        ({"op": "stage", "kind": "hlo", "program": 7}, "error", "no number 7"),
        ({"op": "figure", "kind": "stack"}, "error", "There is no plot"),
        ({"op": "dance"}, "error", "the viewer is newer"),
        ({}, "error", "The request None is unknown"),
    ],
)
def test_what_cannot_be_answered_is_said(
    kernel: Kernel, request_: dict[str, Any], why: str, says: str
) -> None:
    name = shown(kernel)[MIME]["id"]
    words, found = ask(kernel, **{"report": name, **request_})
    assert words["ok"] is False
    assert words["why"] == why
    assert says in words["message"]
    assert found is None


def test_a_text_arrives_while_a_cell_runs(kernel: Kernel, tmp_path: Path) -> None:
    info = kernel.client.kernel_info(reply=True, timeout=400)["content"]
    if "kernel subshells" not in info.get("supported_features", ()):
        pytest.skip("This ipykernel has no subshells.")
    name = shown(kernel)[MIME]["id"]
    request = kernel.client.session.msg("create_subshell_request", {})
    kernel.client.control_channel.send(request)
    subshell = kernel.client.get_control_msg(timeout=400)["content"]["subshell_id"]
    flag = tmp_path / "answered"
    # The cell ends only after the answer is here, or fails.
    wait = (
        "import os, time\n"
        f"until = time.monotonic() + 60\nwhile not os.path.exists({str(flag)!r}):\n"
        "    assert time.monotonic() < until, 'no answer'\n    time.sleep(0.01)"
    )
    before = kernel.client.execute(wait)
    words, found = ask(kernel, subshell, op="stage", report=name, program=0, kind="hlo")
    flag.touch()
    assert words == {"ok": True}
    assert found["stage"]["text"]
    while True:
        reply = kernel.client.get_shell_msg(timeout=400)
        if reply["parent_header"]["msg_id"] == before:
            break
    assert reply["content"]["status"] == "ok"
    request = kernel.client.session.msg("delete_subshell_request", {"subshell_id": subshell})
    kernel.client.control_channel.send(request)
    kernel.client.get_control_msg(timeout=400)


def events(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [event for message in messages for event in message["content"]["data"]["events"]]


def test_compiles_are_told_first_those_that_were_then_those_that_come(kernel: Kernel) -> None:
    kernel.must("@jax.jit\ndef told(v):\n    return v * 3\ntold(np.ones(41, np.float32));")
    comm = open_comm(kernel, "jaxscope.events", {})

    def has(shape: str) -> Callable[[list[dict[str, Any]]], bool]:
        return lambda found: any(
            e["fun_name"] == "told" and shape in e.get("cause", "") + e.get("text", "")
            for e in events(found)
        )

    first = heard(kernel, comm, has("41"))
    assert first[0]["content"]["data"] == {"events": []}
    kernel.client.execute("told(np.ones(42, np.float32));")
    (event,) = [e for e in events(heard(kernel, comm, has("42"))) if e["fun_name"] == "told"]
    assert event["recompile"] is True
    assert event["line"] == 1
    assert event["text"] == "told(np.ones(42, np.float32));"
    serials = [e["serial"] for e in events(first)]
    assert event["serial"] not in serials
    assert len(set(serials)) == len(serials)
    send(kernel, "comm_close", {"comm_id": comm, "data": {}})


def test_each_compile_of_a_storm_is_told_once(kernel: Kernel) -> None:
    comm = open_comm(kernel, "jaxscope.events", {})
    kernel.client.execute(
        "@jax.jit\ndef storm(v):\n    return v\nfor i in range(300, 330):\n    storm(np.ones(i));"
    )
    found = heard(
        kernel, comm, lambda found: sum(e["fun_name"] == "storm" for e in events(found)) >= 30
    )
    serials = [e["serial"] for e in events(found)]
    assert len(set(serials)) == len(serials)
    assert sum(e["fun_name"] == "storm" for e in events(found)) == 30
    send(kernel, "comm_close", {"comm_id": comm, "data": {}})


def test_an_unloaded_extension_leaves_no_target_and_no_thread(kernel: Kernel) -> None:
    comm = open_comm(kernel, "jaxscope.events", {})
    heard(kernel, comm, lambda found: len(found) >= 1)
    kernel.must("import threading")
    threads = "[t.name for t in threading.enumerate() if 'jaxscope' in t.name]"
    assert kernel.must(threads).value == "['jaxscope-events']"
    kernel.must("%unload_ext jaxscope")
    try:
        left = (
            f"[n for n in get_ipython().kernel.comm_manager.targets if 'jaxscope' in n], {threads}"
        )
        assert kernel.must(left).value == "([], [])"
        unserved = shown(kernel, "display(r)")
        assert unserved[MIME]["id"] == ""
    finally:
        kernel.must("%load_ext jaxscope")
