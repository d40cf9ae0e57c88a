"""Clusters that cannot be used: one sentence each. The engines are calls in this process."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from jaxscope.capture.cluster import process
from jaxscope.capture.cluster.process import ClusterError
from jaxscope.cluster import Cluster

SAME = {"jax": "0.10.2", "jaxlib": "0.10.2"}


class CannedEngines:
    """Two engines that give these answers, by function; None for no answer."""

    def __init__(self, answers: Mapping[Any, Sequence[Any]]) -> None:
        self.answers: dict[Any, Sequence[Any]] = {
            eval: (True, True),
            process.versions: (SAME, SAME),
            process.started: (False, False),
            process.host: ("a", "b"),
            process.free_address: ("a:1",),
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
            {process.versions: (SAME, {**SAME, "jax": "0.9.0"})},
            r"different versions of JAX \(0.10.2 with jaxlib 0.10.2 and 0.9.0 with jaxlib 0.10.2\)",
        ),
        (
            {process.started: (True, True)},
            "JAX has already started on engines 0 and 1",
        ),
        ({process.started: (False, None)}, "Engine 1 did not answer within 30 s"),
        (
            {process.join: (None, None)},
            "Engines 0 and 1 did not reach the coordinator at a:1 within 60 s: a firewall",
        ),
    ],
)
def test_init_refuses_engines_that_cannot_be_connected(
    answers: Mapping[Any, Sequence[Any]], words: str
) -> None:
    with pytest.raises(ClusterError, match=words):
        Cluster(CannedEngines(answers)).init()


def test_engines_without_jaxscope_run_no_cell() -> None:
    with pytest.raises(ClusterError, match="cannot import jaxscope"):
        Cluster(CannedEngines({eval: (False, False)})).run_cell("1")
