"""`jaxscope.expect_compiles`: the bounds, and what a failure says."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextvars
import re
import threading
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxscope


def fresh(name: str = "step") -> Any:
    def f(x: Any) -> Any:
        return x * 2

    f.__name__ = f.__qualname__ = name
    return jax.jit(f)


def ones(n: int) -> Any:
    return np.ones(n, np.float32)


def test_a_block_within_its_bound_passes() -> None:
    step = fresh()
    with jaxscope.expect_compiles(at_most=1) as log:
        step(ones(3))
        step(ones(3))
    assert len(log.compiles) == 1
    with jaxscope.expect_compiles(exactly=0):
        step(ones(3))


def test_a_block_that_compiles_too_often_says_what_why_and_what_to_change() -> None:
    step = fresh()
    with pytest.raises(AssertionError) as caught, jaxscope.expect_compiles():  # noqa: PT012
        step(ones(8))
        step(ones(5))
    error = caught.value
    assert isinstance(error, jaxscope.CompilesError)
    lines = str(error).splitlines()
    assert lines[0] == "Expected at most 1 compile, but there were 2."
    assert lines[1].startswith("  1. step at test_expect.py:")
    said = " ".join(str(error).split())
    assert re.search(r": first (call|.*since [\d:]+) with x: f32\[8\] step\(ones\(8\)\)", said)
    assert "The shape of `x` changed: f32[8] → f32[5]" in str(error)
    assert "     → Pad `x`" in str(error)
    assert len(error.log.compiles) == 2


def test_a_storm_is_one_line_of_the_failure() -> None:
    guard = jaxscope.expect_compiles(at_most=3)
    with pytest.raises(jaxscope.CompilesError) as caught, guard:  # noqa: PT012
        for _ in range(6):
            jax.jit(lambda x: x + 1)(ones(3))
    assert str(caught.value).splitlines()[0] == "Expected at most 3 compiles, but there were 6."
    assert str(caught.value).count("<lambda> × 6") == 1


def test_too_few_compiles_say_that_jax_may_have_known_it() -> None:
    step = fresh()
    step(ones(3))
    with (
        pytest.raises(jaxscope.CompilesError, match="Expected at least 1 compile, but there was n"),
        jaxscope.expect_compiles(at_least=1),
    ):
        step(ones(3))


def test_one_function_is_counted_by_name() -> None:
    step, other = fresh(), fresh("other")
    for function in ("step", step):
        with jaxscope.expect_compiles(exactly=1, function=function):
            fresh()(ones(3))
            other(ones(np.random.default_rng().integers(4, 10**6)))
    with (
        pytest.raises(
            jaxscope.CompilesError, match="compile of `step`, but there was none"
        ) as error,
        jaxscope.expect_compiles(exactly=1, function="step"),
    ):
        fresh("other")(ones(3))
    assert "These functions compiled: other." in str(error.value)


def test_single_operations_count_when_asked_for() -> None:
    sizes = iter(range(1001, 1010))

    def operation() -> None:
        jnp.asarray(ones(next(sizes))).sum()

    with jaxscope.expect_compiles(exactly=0):
        operation()
    with (
        pytest.raises(jaxscope.CompilesError, match="Expected no compile"),
        jaxscope.expect_compiles(exactly=0, eager=True),
    ):
        operation()
    guard = jaxscope.expect_compiles(exactly=0)
    with pytest.raises(jaxscope.CompilesError) as caught, guard:  # noqa: PT012
        fresh()(ones(3))
        operation()
    one = "1 compile of a single operation (eager=True counts it)."
    some = "compiles of single operations (eager=True counts them)."
    assert (one if f"Not counted: {one}" in str(caught.value) else some) in str(caught.value)
    assert "1 compiles" not in str(caught.value)


def test_a_decorator_guards_every_call_by_itself() -> None:
    step = fresh()

    @jaxscope.expect_compiles(at_most=1)
    def train(n: int) -> int:
        """Trains."""
        step(ones(n))
        return n

    assert (train(3), train(4), train(5)) == (3, 4, 5)
    assert (train.__name__, train.__doc__) == ("train", "Trains.")

    @jaxscope.expect_compiles(exactly=0)
    def never(n: int) -> None:
        step(ones(n))

    never(3)
    with pytest.raises(jaxscope.CompilesError):
        never(77)


def test_a_recursive_function_and_an_async_one() -> None:
    step = fresh()

    @jaxscope.expect_compiles(at_most=2)
    def down(n: int) -> int:
        step(ones(min(n, 1) + 1))
        return down(n - 1) if n else 0

    assert down(4) == 0

    @jaxscope.expect_compiles(exactly=1)
    async def later(n: int) -> int:
        await asyncio.sleep(0)
        step(ones(n))
        return n

    # In a thread of its own: a browser test before this one leaves its event loop running here.
    with concurrent.futures.ThreadPoolExecutor(1) as thread:
        assert thread.submit(asyncio.run, later(9)).result() == 9
        with pytest.raises(jaxscope.CompilesError):
            thread.submit(asyncio.run, later(9)).result()


def test_the_blocks_own_exception_passes_through() -> None:
    with pytest.raises(ZeroDivisionError), jaxscope.expect_compiles(exactly=0):  # noqa: PT012
        fresh()(ones(3))
        _ = 1 / 0


def test_one_guard_is_for_one_block_at_a_time() -> None:
    guard = jaxscope.expect_compiles(at_most=1)
    with guard, pytest.raises(RuntimeError, match="create one per block"):
        guard.__enter__()
    with guard:
        pass


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"at_most": -1}, "at_most must be a number of compiles, 0 or more, not -1"),
        ({"at_least": 1.5}, "at_least must be a number of compiles, 0 or more, not 1.5"),
        ({"exactly": True}, "exactly must be a number of compiles, 0 or more, not True"),
        ({"exactly": 1, "at_most": 2}, "Give either `exactly`, or `at_least` and `at_most`"),
        ({"at_least": 3, "at_most": 2}, "at_least=3 is more than at_most=2"),
        ({"function": 7}, "7 has no __name__; give the function's name as a string"),
    ],
)
def test_wrong_bounds_are_refused_in_a_sentence(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        jaxscope.expect_compiles(**options)


def test_the_words_of_the_bounds() -> None:
    from jaxscope.testing.expect import Bounds

    assert Bounds.of(None, None, None).text == "at most 1 compile"
    assert Bounds.of(None, 2, None).text == "at least 2 compiles"
    assert Bounds.of(3, 1, None).text == "1 to 3 compiles"
    assert Bounds.of(None, None, 0).text == "no compile"
    assert Bounds.of(None, None, 2).text == "exactly 2 compiles"


async def compiling(name: str, sizes: range) -> None:
    step = fresh(name)
    for n in sizes:
        await asyncio.sleep(0)
        step(ones(n))


def outcomes(*guarded: tuple[int, int]) -> list[bool]:
    """Whether guards of tasks that run at the same time fail: bound and compiles of each."""

    async def task(most: int, number: int) -> bool:
        failed = False
        try:
            with jaxscope.expect_compiles(at_most=most) as log:
                await compiling(f"step{most}{number}", range(1, number + 1))
        except jaxscope.CompilesError:
            failed = True
        assert len(log.compiles) == number
        return failed

    async def every() -> list[bool]:
        return await asyncio.gather(*[task(*one) for one in guarded])

    with concurrent.futures.ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, every()).result()


def test_tasks_do_not_fail_each_others_guards() -> None:
    assert outcomes((1, 1), (1, 1), (1, 1), (1, 1)) == [False] * 4
    assert outcomes((1, 1), (2, 3), (3, 3)) == [False, True, False]


def test_threads_do_not_fail_each_others_guards() -> None:
    together = threading.Barrier(3)

    def work(number: int) -> int:
        step = fresh(f"thread{number}")
        with jaxscope.expect_compiles(at_most=number) as log:
            together.wait()
            for n in range(1, number + 1):
                step(ones(n))
            together.wait()
        return len(log.compiles)

    with concurrent.futures.ThreadPoolExecutor(3) as threads:
        assert list(threads.map(work, (1, 2, 3))) == [1, 2, 3]


@pytest.mark.parametrize("early", [False, True], ids=["started inside", "started before"])
def test_a_thread_without_a_guard_counts_for_the_guard_that_is_open_alone(early: bool) -> None:
    step = fresh()
    with concurrent.futures.ThreadPoolExecutor(1) as thread:
        if early:
            thread.submit(int).result()
        guard = jaxscope.expect_compiles(exactly=0)
        with pytest.raises(jaxscope.CompilesError, match="there was 1"), guard:
            thread.submit(step, ones(3)).result()
    with (
        concurrent.futures.ThreadPoolExecutor(1) as thread,
        jaxscope.expect_compiles(exactly=1),
        jaxscope.expect_compiles(exactly=1),
    ):
        thread.submit(step, ones(4)).result()


def test_whose_work_nobody_can_tell_counts_for_no_guard_and_is_said() -> None:
    step, entered, done = fresh(), threading.Event(), threading.Event()

    def other() -> tuple[str, ...]:
        with jaxscope.expect_compiles(exactly=0) as log:
            entered.set()
            done.wait(60)
        return log.notes

    with concurrent.futures.ThreadPoolExecutor(2) as threads:
        guarded = threads.submit(other)
        entered.wait(60)
        with jaxscope.expect_compiles(exactly=0) as log:
            threads.submit(step, ones(3)).result()
            threads.submit(fresh("lowered").lower, ones(3)).result()  # compiles nothing
        done.set()
        said = "1 compilation outside every guard while several were open: not counted; "
        assert [note.startswith(said) for note in (*log.notes, *guarded.result())] == [True, True]


def test_work_in_a_copy_of_the_context_counts_for_its_guard() -> None:
    step, entered, done = fresh(), threading.Event(), threading.Event()

    def other() -> None:
        with jaxscope.expect_compiles(exactly=0):
            entered.set()
            done.wait(60)

    with concurrent.futures.ThreadPoolExecutor(2) as threads:
        guarded = threads.submit(other)
        entered.wait(60)
        with jaxscope.expect_compiles(exactly=1) as log:
            threads.submit(contextvars.copy_context().run, step, ones(3)).result()
        done.set()
        guarded.result()
    assert log.notes == ()


def test_a_guard_around_another_counts_both() -> None:
    step = fresh()
    with jaxscope.expect_compiles(exactly=3) as outer:
        step(ones(2))
        with jaxscope.expect_compiles(exactly=1):
            step(ones(3))
        step(ones(4))
    assert [compile.signature for compile in outer.compiles] == [
        (f"x: f32[{n}]",) for n in (2, 3, 4)
    ]
