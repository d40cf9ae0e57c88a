"""The comparison of one compilation, on a store in memory and with threads as processes."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from jaxscope.analysis.cluster.divergence import print_of
from jaxscope.capture.cluster.exchange import Exchange
from jaxscope.model.cluster import CodePlace, CollectiveOp, CompiledPrint, DivergenceKind

PROGRAM = "module @jit_f {\n func.func public @main(%arg0: tensor<8xf32>) -> tensor<f32> {\n"
OPS = (CollectiveOp("all-reduce", "f32[8]", "{{0,1}}"),)


class MemoryStore:
    """The store of all processes; each counts its own operations by thread."""

    def __init__(self) -> None:
        self.values: dict[str, str] = {}
        self.changed = threading.Condition()
        self.operations: dict[int, int] = {}

    def _op(self) -> None:
        here = threading.get_ident()
        self.operations[here] = self.operations.get(here, 0) + 1

    def add(self, key: str, value: str) -> bool:
        with self.changed:
            self._op()
            new = key not in self.values
            self.values.setdefault(key, value)
            self.changed.notify_all()
            return new

    def put(self, key: str, value: str) -> None:
        with self.changed:
            self._op()
            self.values[key] = value

    def get(self, key: str) -> str | None:
        with self.changed:
            self._op()
            return self.values.get(key)

    def count(self, key: str, by: int) -> int:
        with self.changed:
            self._op()
            self.values[key] = str(int(self.values.get(key, "0")) + by)
            assert int(self.values[key]) < 1 << 31  # else JAX's service fails
            return int(self.values[key])

    def wait(self, key: str, seconds: float) -> str | None:
        with self.changed:
            self._op()
            self.changed.wait_for(lambda: key in self.values, seconds)
            return self.values.get(key)

    def remove(self, folder: str) -> None:
        with self.changed:
            self._op()
            for key in [key for key in self.values if key.startswith(f"{folder}/")]:
                del self.values[key]
            self.changed.notify_all()

    def folder(self, folder: str) -> list[str]:
        with self.changed:
            self._op()
            return [value for key, value in self.values.items() if key.startswith(folder)]


def play(store, texts, *, guard: bool, flags=(), schedules=(), wait_s: float = 5):
    """What each process finds: at the start, while it waits, and after compilation."""
    number = len(texts)
    together = threading.Barrier(number)  # else one thread may play several processes

    def one(process: int):
        given = flags[process] if flags else ""
        place = CodePlace(f"a.py:{process}")
        mine = print_of(texts[process], process, place, given)
        exchange = Exchange(store, "base", number)
        together.wait(5)
        found = [exchange.start(mine)]
        if guard and (found[0] is None or found[0].kind is DivergenceKind.FLAGS):
            found.append(exchange.wait(mine, wait_s, list).difference)
        if not guard or not any(f and f.kind is not DivergenceKind.FLAGS for f in found):
            ops = schedules[process] if schedules else OPS
            if ops is None:
                return exchange.failed(process, place, "ValueError")
            compiled = CompiledPrint(process, place, given, ops)
            found.append(exchange.compiled(compiled, wait_s if guard else None).difference)
            if exchange.finished:  # after all have read the answer
                threading.Timer(0.2, exchange.remove).start()
        return [difference.kind for difference in found if difference is not None]

    with ThreadPoolExecutor(number) as pool:
        return list(pool.map(one, range(number)))


@pytest.mark.parametrize("guard", [False, True])
@pytest.mark.parametrize("number", [2, 5, 70])
def test_equal_programs_are_not_reported_and_leave_no_key(number: int, guard: bool) -> None:
    store = MemoryStore()
    assert play(store, [PROGRAM] * number, guard=guard) == [[]] * number
    with store.changed:
        assert store.changed.wait_for(lambda: not store.values, 5), store.values
    assert max(store.operations.values()) <= 5


def test_with_a_guard_every_process_is_told_of_a_difference() -> None:
    texts = [PROGRAM, PROGRAM, PROGRAM.replace("<8x", "<9x")]
    assert play(MemoryStore(), texts, guard=True) == [[DivergenceKind.SHAPES]] * 3


def test_without_a_guard_one_process_reports_it() -> None:
    found = play(MemoryStore(), [PROGRAM, PROGRAM.replace("<8x", "<9x")], guard=False)
    assert sorted(found) == [[], [DivergenceKind.SHAPES]]


def test_flags_alone_do_not_stop_a_program_that_exchanges_data_alike() -> None:
    found = play(MemoryStore(), [PROGRAM] * 3, guard=True, flags=("", "--fast", ""))
    assert sorted(found) in ([[], [], [DivergenceKind.FLAGS]], [[], *[[DivergenceKind.FLAGS]] * 2])


def test_flags_that_change_the_collectives_stop_every_process() -> None:
    found = play(
        MemoryStore(),
        [PROGRAM] * 2,
        guard=True,
        flags=("", "--fast"),
        schedules=(OPS, OPS + OPS),
    )
    assert all(kinds[-1] is DivergenceKind.COLLECTIVES for kinds in found)


def test_with_a_guard_different_collectives_stop_every_process() -> None:
    """Also those that compiled the same as the last one, and where no flag tells the reason."""
    schedules = (OPS, OPS, OPS + OPS, OPS)
    found = play(MemoryStore(), [PROGRAM] * 4, guard=True, schedules=schedules)
    assert found == [[DivergenceKind.COLLECTIVES]] * 4


def test_without_a_guard_the_process_with_different_collectives_reports_them() -> None:
    found = play(MemoryStore(), [PROGRAM] * 3, guard=False, schedules=(OPS, OPS + OPS, OPS))
    assert sorted(found)[-1] == [DivergenceKind.COLLECTIVES]


def test_a_process_that_cannot_compile_stops_those_that_wait_for_it() -> None:
    found = play(MemoryStore(), [PROGRAM] * 3, guard=True, schedules=(OPS, None, OPS))
    assert found == [[DivergenceKind.MISSING], None, [DivergenceKind.MISSING]]


def test_a_process_that_does_not_arrive_is_missed_and_the_position_is_free_again() -> None:
    store = MemoryStore()
    mine = print_of(PROGRAM, 0, CodePlace("a.py:1"), "")
    exchange = Exchange(store, "base", 2)
    assert exchange.start(mine) is None
    found = exchange.wait(mine, 0.05, list)
    assert found.difference is not None
    assert found.difference.kind is DivergenceKind.MISSING
    assert "1 of 2 processes" in found.difference.message
    assert not found.reached
    assert store.values == {}
