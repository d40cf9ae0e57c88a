"""What the model computes from what it keeps."""

import dataclasses
import math

import pytest

from jaxscope import model as m


def timing(*samples: float) -> m.Timing:
    return m.Timing("call", "cpu:0", samples)


def program(**changes: object) -> m.Program:
    empty = m.Program("cell", ("jit",), ("cpu:0",), (), (), constants=(), equations=())
    return dataclasses.replace(empty, **changes)


def test_the_interval_of_the_median_brackets_it_by_order_statistics() -> None:
    # David and Nagaraja, table of the sign-test interval: n = 20 gives the 6th and 15th of 20.
    assert m.order_interval(20) == (5, 14)
    assert m.order_interval(6) == (0, 5)
    assert m.order_interval(5) is None


def test_the_interval_is_at_least_95_percent_sure_and_the_next_narrower_is_not() -> None:
    for n in range(6, 80):
        low, high = m.order_interval(n)
        assert high == n - 1 - low

        def sure(k: int, n: int = n) -> float:
            """Chance that the median lies between order statistics k and n - 1 - k."""
            return 1 - 2 * sum(math.comb(n, i) for i in range(k + 1)) / 2**n

        assert sure(low) >= 0.95
        assert sure(low + 1) < 0.95


def test_statistics_come_from_the_samples_in_any_order() -> None:
    t = timing(9.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0)
    assert t.median_s == 5.0
    assert (t.low_s, t.high_s) == (2.0, 8.0)
    assert t.spread == pytest.approx(0.6)


def test_few_samples_give_their_extremes_and_one_gives_no_spread() -> None:
    assert (timing(3.0, 1.0).low_s, timing(3.0, 1.0).high_s) == (1.0, 3.0)
    assert math.isnan(timing(3.0).spread)
    assert math.isnan(timing().median_s)


def test_the_title_nests_the_transforms_outermost_first() -> None:
    assert program(transforms=("jit", "vmap")).title == "jit(vmap(cell))"
    assert program(transforms=()).title == "cell"


def test_the_call_is_found_by_its_label() -> None:
    first, call = m.Timing("first call", "cpu:0", (1.0,)), timing(2.0)
    assert program(timings=(first, call)).call is call
    assert program(timings=(first,)).call is None


def test_intensity_is_none_when_nothing_is_moved() -> None:
    assert m.Cost(8.0, 0.0, 2.0).intensity == 4.0
    assert m.Cost(8.0, 0.0, 0.0).intensity is None


def test_a_compile_takes_the_sum_of_its_parts() -> None:
    one = m.Compile("f", m.CompileKind.JIT, None, trace_s=1.0, lower_s=2.0, compile_s=3.0)
    assert one.total_s == 6.0


def test_what_is_unavailable_is_false_and_keeps_its_reason() -> None:
    gone = m.Unavailable("the program was released")
    assert not gone
    assert gone.reason == "the program was released"


def test_a_link_is_its_lines() -> None:
    link = m.Link((3, 5), exact=False, why="candidates")
    assert list(link) == [3, 5]
    assert len(link) == 2
    assert 5 in link
    assert 4 not in link


def test_records_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        program().name = "other"
