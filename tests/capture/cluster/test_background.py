"""Work in a thread of its own."""

import threading

from jaxscope.capture.cluster.background import Background


def test_jobs_run_in_order_and_one_that_fails_ends_nothing() -> None:
    ran: list[int] = []
    background = Background("test")

    def fails() -> None:
        raise ValueError

    background.submit(lambda: ran.append(9), after_s=60)
    for job in (lambda: ran.append(1), fails, lambda: ran.append(2)):
        background.submit(job)
    assert background.settle(5)
    assert ran == [1, 2]
    background.stop()
    assert ran == [1, 2]
    assert not [thread for thread in threading.enumerate() if thread.name == "test"]


def test_a_job_that_is_due_later_runs_then() -> None:
    background, done = Background("test"), threading.Event()
    background.submit(done.set, after_s=0.01)
    assert done.wait(5)
    background.stop()


def test_waiting_for_a_job_that_hangs_ends() -> None:
    background, release = Background("test"), threading.Event()
    background.submit(lambda: release.wait(5) and None)
    assert not background.settle(0.05)
    release.set()
    background.stop()
