"""Clusters that cannot be used: one sentence each. Most engines are calls in this process."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from jaxscope.capture.cluster import process
from jaxscope.capture.cluster.process import ClusterError
from jaxscope.cluster import Cluster
from tests.cluster.launchers import LAUNCHERS, attached
from tests.magics.notebook import open_notebook

READY = process.BeforeInit("0.10.2 with jaxlib 0.10.2", False, "a")


class CannedEngines:
    """Two engines that give these answers, by function; None for no answer."""

    def __init__(self, answers: Mapping[Any, Sequence[Any]]) -> None:
        self.answers: dict[Any, Sequence[Any]] = {
            eval: (True, True),
            process.before_init: (READY, READY),
            process.offer: ("a:1",),
            process.reach: ("", ""),
            **answers,
        }

    def __len__(self) -> int:
        return 2

    def call(self, function: Any, arguments: Sequence[tuple[Any, ...]], wait_s: float) -> list[Any]:
        return list(self.answers[function])

    def run(
        self, function: Any, arguments: Mapping[int, tuple[Any, ...]], say: Callable[[str], None]
    ) -> dict[int, Any]:
        raise AssertionError("nothing may run")

    def check(self) -> None: ...
    def restart(self) -> None: ...
    def activate(self) -> None: ...


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        ({eval: (True, False)}, "Engine 1 cannot import jaxscope and jax: install them there."),
        (
            {process.before_init: (READY, READY._replace(versions="0.9.0 with jaxlib 0.9.0"))},
            r"versions of JAX: 0.10.2 with .* on engine 0 and 0.9.0 with .* on engine 1\.",
        ),
        (
            {process.before_init: [READY._replace(started=True)] * 2},
            "JAX has already started on engines 0 and 1",
        ),
        ({process.before_init: (READY, None)}, "Engine 1 did not answer within 120 s. Where"),
        (
            {eval: (True, None), process.before_init: (READY, None)},
            "Engine 1 did not answer within 30 s. Where",
        ),
        (
            {process.join: (None, None)},
            "Engines 0 and 1 did not connect to the coordinator at a:1 within 60 s",
        ),
        (
            {process.reach: ("", "timed out")},
            r"Engine 1 cannot reach the coordinator at a:1 \(timed out\): a firewall may be",
        ),
    ],
)
def test_init_refuses_engines_that_cannot_be_connected(
    answers: Mapping[Any, Sequence[Any]], words: str
) -> None:
    with pytest.raises(ClusterError, match=words):
        Cluster(CannedEngines(answers)).init()


@pytest.mark.parametrize(
    "action",
    [
        lambda cluster: cluster.run_cell("1"),
        lambda cluster: cluster.status(),
        lambda cluster: cluster.guard("on"),
    ],
)
def test_engines_without_jaxscope_are_sent_none_of_it(action: Callable[[Cluster], Any]) -> None:
    with pytest.raises(ClusterError, match="cannot import jaxscope"):
        action(Cluster(CannedEngines({eval: (False, False)})))


def test_an_address_is_tried_before_jax_aborts_a_process_that_cannot_reach_it() -> None:
    address = process.offer("127.0.0.1")
    assert process.reach(address, 5) == ""
    while process._offered:
        process._offered.pop().close()
    assert "refused" in process.reach(address, 5)
    assert process.reach("no-such-host.invalid:1", 5) != ""


HIDING = """
import sys
class Hidden:
    def __init__(self, finder):
        self.finder = finder
    def __getattr__(self, name):
        return getattr(self.finder, name)
    def find_spec(self, name, *more):
        find = getattr(self.finder, "find_spec", None)
        return None if name.partition(".")[0] == "jaxscope" or find is None else find(name, *more)
sys.meta_path[:] = [Hidden(finder) for finder in sys.meta_path]
"""
"""Run by each Python process at its start: it then has no jaxscope."""


@pytest.mark.jax
@pytest.mark.kernel
@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_engines_without_jaxscope_are_refused_and_can_be_restarted(
    launcher: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip(LAUNCHERS[launcher])
    (tmp_path / "sitecustomize.py").write_text(HIDING)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with open_notebook() as notebook, attached(launcher, notebook):
        lines = ("%jaxcluster init", "%jaxcluster status", "%%jaxcluster run\n1")
        for line in (*lines, "%%jaxjit --engines all\n1"):
            assert "Engines 0 and 1 cannot import jaxscope and jax" in notebook.run(line).message
        if launcher != "dask":  # of which a restart sends nothing to the engines, and takes long
            return
        notebook.must("%jaxcluster restart")
        assert "cannot import jaxscope" in notebook.run("%jaxcluster init").message
