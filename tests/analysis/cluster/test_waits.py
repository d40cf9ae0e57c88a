"""Who made whom wait, and by which clock: traces of processes with planted delays."""

import random
from dataclasses import replace

import pytest

from jaxscope.analysis.cluster.schedule import collective_groups
from jaxscope.analysis.cluster.waits import waits
from jaxscope.model.cluster import CollectiveRun, DeviceRun, LineStay, ProcessTrace
from jaxscope.results.cluster_waits import ClusterWaits

MS = 1e6
EPOCH = 1.7e18


def traces(
    processes: int = 2,
    steps: int = 10,
    *,
    host: dict[int, float] | None = None,
    work: dict[tuple[int, int], float] | None = None,
    clock: dict[int, float] | None = None,
    collectives: int = 2,
    noise: float = 0.0,
) -> list[ProcessTrace]:
    """Processes of two devices: Python of 1 ms (+ `host`), work of 2 ms (× `work`), and
    collectives of 0.1 ms after the last device has arrived, twice in each step. ms."""
    rng = random.Random(0)
    devices = [(p, 2048 * p + d) for p in range(processes) for d in (0, 1)]
    everyone = tuple(device for _, device in devices)
    runs: dict[int, list[DeviceRun]] = {p: [] for p in range(processes)}
    found: dict[int, list[CollectiveRun]] = {p: [] for p in range(processes)}
    stays: dict[int, list[LineStay]] = {p: [] for p in range(processes)}
    now = EPOCH
    for _ in range(steps):
        started: dict[tuple[int, int], float] = {}
        for p, d in devices:
            late = (host or {}).get(p, 0.0) * MS
            started[p, d] = now + 1 * MS + late + rng.random() * noise * MS
            if d % 2 == 0:
                stays[p] += [
                    LineStay(now, "running Python", "In [7]:3 `load()`"),
                    LineStay(now + 1 * MS + late, "waiting in JAX", "In [7]:4 `step(x)`"),
                ]
        ready = {pd: t + 2 * MS * (work or {}).get(pd, 1.0) for pd, t in started.items()}
        for number in range(collectives):
            end = max(ready.values()) + 0.1 * MS
            for p, d in devices:
                found[p].append(CollectiveRun("jit_step", f"psum.{number}", d, ready[p, d], end))
                ready[p, d] = end + (0.5 * MS if number + 1 < collectives else 0.0)
        for p, d in devices:
            runs[p].append(DeviceRun(d, started[p, d], end))
        now = end
    groups = tuple(("jit_step", f"psum.{n}", (everyone,)) for n in range(collectives))
    return [
        shifted(
            ProcessTrace(p, tuple(found[p]), tuple(runs[p]), tuple(stays[p]), groups),
            (clock or {}).get(p, 0.0) * MS,
        )
        for p in range(processes)
    ]


def shifted(trace: ProcessTrace, by: float) -> ProcessTrace:
    return replace(
        trace,
        collectives=tuple(
            c._replace(start=c.start + by, end=c.end + by) for c in trace.collectives
        ),
        runs=tuple(r._replace(start=r.start + by, end=r.end + by) for r in trace.runs),
        stays=tuple(s._replace(start=s.start + by) for s in trace.stays),
    )


@pytest.mark.parametrize("clock", [-5.0, 0.0, 5.0])
def test_a_late_host_is_named_with_its_line_whatever_the_clocks(clock: float) -> None:
    found = waits(traces(host={1: 30.0}, clock={1: clock}, noise=0.05))
    worst = found.late[0]
    assert worst.process == 1
    assert worst.host_s == pytest.approx(0.3, rel=0.05)
    assert worst.device_s < 0.05 * worst.host_s
    assert max(worst.lines, key=worst.lines.__getitem__) == "In [7]:3 `load()`"
    assert found.waited[0] == pytest.approx(0.3, rel=0.05)
    assert found.waited[1] < 0.01
    assert found.clocks[1].seconds == pytest.approx(clock / 1000, abs=0.2e-3)


def test_a_clock_is_known_from_who_waited_for_whom_where_threads_wake_late() -> None:
    """Each process is last in every other step, and leaves up to 3 ms late, one more than the
    other."""
    rng, found = random.Random(1), []
    for process, wakes in ((0, 0.3), (1, 3.0)):
        own: list[CollectiveRun] = []
        for step in range(40):
            now = EPOCH + 20 * step * MS
            start = now + (4 * MS if step % 2 == process else 0)
            end = now + 4.1 * MS + rng.random() * wakes * MS
            own.append(CollectiveRun("jit_step", "psum.0", 2048 * process, start, end))
        groups = (("jit_step", "psum.0", ((0, 2048),)),)
        runs = tuple(DeviceRun(one.device, one.start, one.end) for one in own)
        found.append(ProcessTrace(process, tuple(own), runs, (), groups))
    for planted in (-5.0, 0.0, 5.0):
        clock = waits([found[0], shifted(found[1], planted * MS)]).clocks[1]
        assert clock.seconds == pytest.approx(planted / 1000, abs=0.2e-3)
        assert clock.error_s < 0.5e-3


@pytest.mark.parametrize("slow", [0, 1])
def test_a_clock_is_that_of_the_ends_that_deviate_least_where_one_process_is_always_late(
    slow: int,
) -> None:
    """The second device of one process wakes up to 4 ms late."""
    rng, found = random.Random(1), []
    for process in (0, 1):
        own: list[CollectiveRun] = []
        for step in range(10):
            now = EPOCH + 40 * step * MS + (0 if process == 0 else -30 * MS)
            end = EPOCH + (40 * step + 0.3) * MS + rng.random() * 0.05 * MS
            for device in (0, 1):
                late = rng.random() * 4 * MS if device and process == slow else 0
                own.append(
                    CollectiveRun("jit_step", "psum.0", 2048 * process + device, now, end + late)
                )
        groups = (("jit_step", "psum.0", ((0, 1, 2048, 2049),)),)
        runs = tuple(DeviceRun(one.device, one.start, one.end) for one in own)
        found.append(ProcessTrace(process, tuple(own), runs, (), groups))
    for planted in (-5.0, 0.0, 5.0):
        clock = waits([found[0], shifted(found[1], planted * MS)]).clocks[1]
        assert clock.seconds == pytest.approx(planted / 1000, abs=0.2e-3)


def test_a_late_host_is_named_with_the_line_at_which_its_device_was_idle() -> None:
    """And not with that at which it waits for the device, which may take longer."""
    long = {(p, 2048 * p + d): 20.0 for p in (0, 1) for d in (0, 1)}
    worst = waits(traces(host={1: 10.0}, work=long)).late[0]
    assert worst.host_s == pytest.approx(0.1, rel=0.05)
    assert max(worst.lines, key=worst.lines.__getitem__) == "In [7]:3 `load()`"


def test_a_late_device_is_named() -> None:
    worst = waits(traces(work={(1, 2049): 10.0}, clock={1: 5.0}, noise=0.05)).late[0]
    assert worst.process == 1
    assert worst.device_s == pytest.approx(0.18, rel=0.05)  # 10 steps of 2 ms, 9 more of each
    assert worst.host_s < 0.05 * worst.device_s
    assert max(worst.devices, key=worst.devices.__getitem__) == 2049


def test_a_host_and_a_device_that_are_both_late_share_the_wait() -> None:
    worst = waits(traces(host={1: 10.0}, work={(1, 2048): 6.0, (1, 2049): 6.0})).late[0]
    assert worst.host_s == pytest.approx(0.1, rel=0.05)
    assert worst.device_s == pytest.approx(0.1, rel=0.05)


def test_groups_that_wait_side_by_side_do_not_add_up() -> None:
    pairs = ((0, 2048), (1, 2049))
    found = waits(
        [
            replace(trace, groups=tuple((m, n, pairs) for m, n, _ in trace.groups))
            for trace in traces(host={1: 30.0})
        ]
    )
    assert found.collectives == 20
    assert found.late[0].host_s == pytest.approx(0.3, rel=0.05)
    assert found.waited[0] == pytest.approx(0.3, rel=0.05)


def test_processes_that_arrive_together_wait_for_none() -> None:
    found = waits(traces(noise=0.01))
    assert sum(one.wait_s for one in found.late) < 1e-3
    assert found.collectives == 20


def test_calls_in_a_different_order_are_named_and_nothing_else_is_claimed() -> None:
    first, second = traces(steps=2)
    swapped = list(second.collectives)
    for at in (0, 1):  # both devices
        swapped[at] = swapped[at]._replace(name="psum.1")
    for at in (2, 3):
        swapped[at] = swapped[at]._replace(name="psum.0")
    found = waits([first, replace(second, collectives=tuple(swapped))])
    assert (
        "Collective 1 is `psum.0` of `step` on process 0 and `psum.1` of `step`" in found.mismatch
    )
    assert found.late == ()


def test_a_process_with_fewer_collectives_is_named() -> None:
    first, second = traces(steps=2)
    found = waits([first, replace(second, collectives=second.collectives[:-2])])
    assert (
        "Collective 4 is `psum.1` of `step` on process 0 and no more on process 1" in found.mismatch
    )


def test_collectives_inside_a_process_join_nothing() -> None:
    inside = ((0, 1), (2048, 2049))
    found = waits(
        [replace(t, groups=tuple((m, n, inside) for m, n, _ in t.groups)) for t in traces()]
    )
    assert found.collectives == 0
    assert found.clocks[1].seconds is None
    assert found.late == ()


def test_the_straggler_of_a_thousand_processes_is_found_and_the_page_stays_small() -> None:
    found = ClusterWaits(traces(1000, 5, host={617: 30.0}, clock={3: 5.0}, noise=0.05))
    worst = found.waits.late[0]
    assert worst.process == 617
    assert worst.host_s == pytest.approx(0.15, rel=0.05)
    assert found.waits.clocks[3].seconds == pytest.approx(5e-3, abs=0.2e-3)
    assert "process 617 made the others wait" in found.summary()
    assert len(found.static_html().encode()) < 50_000


def test_groups_of_devices_are_read_from_the_optimized_hlo() -> None:
    text = """HloModule jit_f, is_scheduled=true
ENTRY main {
  %psum.1 = f32[8]{0} all-reduce(%p), channel_id=1, replica_groups=[2,2]<=[4], to_apply=%add
  ROOT %all = f32[8]{0} all-reduce(%psum.1), replica_groups={}, to_apply=%add
  %cp = f32[8]{0} collective-permute(%p), source_target_pairs={{0,1}}
  %rows = f32[8]{0} all-reduce(%p), replica_groups=mesh['a'=2,'b'=2] {'b'}, channel_id=2
  %turned = f32[8]{0} all-reduce(%p), replica_groups=mesh['a'=2,'b'=2], \
device_ids=([2,2]T(1,0)) {'b'}, channel_id=3, metadata={op_name="jit(f)/ all-reduce(x)"}
}"""
    assert collective_groups(text, (0, 1, 2048, 2049)) == {
        ("jit_f", "psum.1"): ((0, 1), (2048, 2049)),
        ("jit_f", "all"): ((0, 1, 2048, 2049),),
        ("jit_f", "rows"): ((0, 1), (2048, 2049)),
        ("jit_f", "turned"): ((0, 2048), (1, 2049)),
    }
