"""Work in a thread of its own."""

import threading
from types import SimpleNamespace

import pytest

from jaxscope.capture.cluster import process
from jaxscope.capture.cluster.background import Background


def test_jobs_run_in_order_and_one_that_fails_ends_nothing() -> None:
    ran: list[int] = []
    background = Background("test")

    def fails() -> None:
        raise ValueError

    background.submit(lambda: ran.append(9), after_s=60)
    for job in (lambda: ran.append(1), fails, lambda: ran.append(2)):
        background.submit(job)
    assert background.settle(60)
    assert ran == [1, 2]
    background.stop()
    assert ran == [1, 2]
    assert not [thread for thread in threading.enumerate() if thread.name == "test"]


def test_a_job_that_is_due_later_runs_then() -> None:
    background, done = Background("test"), threading.Event()
    background.submit(done.set, after_s=0.01)
    assert done.wait(60)
    background.stop()


def test_waiting_for_a_job_that_hangs_ends() -> None:
    background, release = Background("test"), threading.Event()
    background.submit(lambda: release.wait(5) and None)
    assert not background.settle(0.05)
    release.set()
    background.stop()


@pytest.mark.parametrize("ended", [True, False])
def test_collectives_are_told_once_all_programs_were_read(
    monkeypatch: pytest.MonkeyPatch, ended: bool
) -> None:
    groups = {("jit_a", "all-reduce"): ((0, 1),)}
    watch = SimpleNamespace(groups=groups, settle=lambda wait_s: ended)
    monkeypatch.setattr(process, "_watch", [watch])
    assert process.collective_groups() == (groups if ended else {})
