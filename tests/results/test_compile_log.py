"""`jaxscope.watch`: what was compiled in a block, on real JAX, with exact counts."""

from __future__ import annotations

import functools
import json
import threading
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import monitoring

import jaxscope
from jaxscope.capture.compile_log import log as gathered
from jaxscope.capture.compile_log import watch
from jaxscope.capture.compiles import listener as events
from jaxscope.capture.compiles import open_compiles
from jaxscope.capture.compiles.history import History
from jaxscope.capture.compiles.listener import own_work
from jaxscope.model import CauseKind, CompileKind, SchemaError
from jaxscope.model.compile_log import Log

X = np.ones(3, np.float32)


def fresh(name: str = "step") -> Any:
    """A jitted function that nobody has compiled."""

    def f(x: Any, lr: Any = 0.1) -> Any:
        return x - lr * x

    f.__name__ = f.__qualname__ = name
    return jax.jit(f)


def ones(n: int) -> Any:
    return np.ones(n, np.float32)


def names(log: jaxscope.CompileLog) -> list[str]:
    return [compile.fun_name for compile in log.compiles]


def test_a_block_is_logged_with_place_time_and_reason() -> None:
    step = fresh()
    with jaxscope.watch() as log:
        step(X)
        step(X)
        step(ones(5))
    first, again = log.compiles
    assert [compile.fun_name for compile in (first, again)] == ["step", "step"]
    assert again.site is not None
    assert log.log.sources[again.site.source or 0].name == "test_compile_log.py"
    assert first.causes[0].kind is CauseKind.FIRST_CALL
    assert log.recompiles == (again,)
    assert (again.causes[0].kind, again.causes[0].path) == (CauseKind.SHAPE, "x")
    assert again.causes[0].fix
    assert log.total_s == pytest.approx(first.total_s + again.total_s)
    assert len(log) == len(list(log)) == 2


def test_a_block_without_compiles_says_so() -> None:
    step = fresh()
    step(X)
    with jaxscope.watch() as log:
        step(X)
    assert log.compiles == log.notes == ()
    assert log.summary() == log.to_text().strip() == "Nothing was compiled."


def test_the_log_can_be_read_inside_the_block_and_stays_after_it() -> None:
    step = fresh()
    with jaxscope.watch() as log:
        assert log.compiles == ()
        step(X)
        assert names(log) == ["step"]
    step(ones(7))
    assert names(log) == ["step"]


def test_watches_nest_and_the_inner_one_knows_what_came_before() -> None:
    step = fresh()
    with jaxscope.watch() as outer:
        step(X)
        with jaxscope.watch() as inner:
            step(ones(4))
        step(ones(5))
    assert len(outer.compiles) == 3
    (compile,) = inner.compiles
    assert compile.causes[0].kind is CauseKind.SHAPE


def test_watches_may_end_in_any_order() -> None:
    outer, inner = jaxscope.watch(), jaxscope.watch()
    first = outer.__enter__()
    second = inner.__enter__()
    fresh("one")(X)
    outer.__exit__(None, None, None)
    fresh("two")(X)
    inner.__exit__(None, None, None)
    assert (names(first), names(second)) == (["one"], ["one", "two"])


def test_all_threads_are_heard() -> None:
    barrier = threading.Barrier(2)

    def work(name: str) -> None:
        barrier.wait(timeout=60)
        for n in range(3):
            fresh(name)(ones(n + 1))

    with jaxscope.watch() as log:
        threads = [threading.Thread(target=work, args=(name,), name=name) for name in ("a", "b")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=120)
    assert sorted(names(log)) == ["a"] * 3 + ["b"] * 3
    assert {compile.thread for compile in log.compiles} == {"a", "b"}
    assert all(compile.thread == compile.fun_name for compile in log.compiles)


def test_two_threads_may_watch_at_once() -> None:
    began, done = threading.Event(), threading.Event()
    found: list[jaxscope.CompileLog] = []

    def work() -> None:
        with jaxscope.watch() as log:
            began.set()
            done.wait(timeout=60)
            fresh("late")(X)
        found.append(log)

    with jaxscope.watch() as mine:
        thread = threading.Thread(target=work)
        thread.start()
        began.wait(timeout=60)
    done.set()
    thread.join(timeout=60)
    assert names(mine) == []
    assert names(found[0]) == ["late"]


def test_an_exception_passes_through_and_the_log_is_kept() -> None:
    with pytest.raises(ZeroDivisionError), jaxscope.watch() as log:  # noqa: PT012
        fresh()(X)
        _ = 1 / 0
    assert names(log) == ["step"]


def test_a_compile_that_fails_is_no_compile_and_is_told() -> None:
    def broken(x: Any) -> Any:
        if x > 0:
            return x
        return -x

    with jaxscope.watch() as log:
        with pytest.raises(jax.errors.TracerBoolConversionError):
            jax.jit(broken)(1.0)
        fresh()(X)
    assert names(log) == ["step"]
    (failed,) = log.failed
    assert (failed.fun_name, failed.error) == ("broken", "TracerBoolConversionError")
    assert "1 failed" in log.summary()
    assert "failed: TracerBoolConversionError" in log.to_text()


def test_an_interrupt_in_the_middle_leaves_the_log_in_order() -> None:
    def interrupted(x: Any) -> Any:
        raise KeyboardInterrupt

    with jaxscope.watch() as log:
        with pytest.raises(KeyboardInterrupt):
            jax.jit(interrupted)(X)
        fresh("after")(X)
    assert [compile.error for compile in log.failed] == ["KeyboardInterrupt"]
    assert names(log) == ["after"]


def test_what_is_only_lowered_is_apart() -> None:
    with jaxscope.watch() as log:
        fresh().lower(X)
    assert log.compiles == ()
    (lowered,) = log.log.passes
    assert lowered.compile_s == 0 < lowered.lower_s
    assert log.summary().endswith("1 traced or lowered only")


def test_our_own_programs_are_not_in_the_log() -> None:
    with jaxscope.watch() as log, own_work():
        fresh()(X)
    assert log.compiles == ()


def test_listeners_that_somebody_took_away_are_put_back_and_that_is_said() -> None:
    kept = [getattr(jax._src.monitoring, f"get_{name}_listeners")() for name in LISTENERS]
    with jaxscope.watch() as log:
        fresh("heard")(X)
        for name, before in zip(LISTENERS, kept, strict=True):
            for listener in getattr(jax._src.monitoring, f"get_{name}_listeners")():
                if listener not in before:
                    UNREGISTER[name](listener)
        fresh("unheard")(X)
        assert names(log) == ["heard"]
        fresh("again")(X)
    assert names(log) == ["heard", "again"]
    (note,) = log.notes
    assert "clear_event_listeners" in note
    assert "until it was registered again none were observed" in note


LISTENERS = ("event", "event_duration", "scalar")
UNREGISTER = {
    "event": monitoring.unregister_event_listener,
    "event_duration": monitoring.unregister_event_duration_listener,
    "scalar": monitoring.unregister_scalar_listener,
}


def test_a_watch_that_cannot_begin_runs_the_block(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: Any) -> None:
        raise OSError("no listeners today")

    monkeypatch.setattr(events.Listener, "_register", broken)
    with jaxscope.watch() as log:
        assert fresh()(X).shape == (3,)
    assert log.compiles == ()
    assert log.notes == (
        "Compilations may be missing: jaxscope could not listen (OSError: no listeners today).",
    )


def test_a_watch_that_cannot_end_keeps_the_blocks_exception(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(*_: Any) -> Any:
        raise OSError("lost")

    with pytest.raises(ZeroDivisionError), jaxscope.watch() as log:  # noqa: PT012
        monkeypatch.setattr(watch, "caveats", broken)
        _ = 1 / 0
    monkeypatch.undo()
    assert log.notes == (
        "Compilations may be missing: jaxscope could not finish its log (OSError: lost).",
    )


def test_more_compiles_than_are_kept_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_compiles, "History", functools.partial(History, 4))
    with jaxscope.watch() as log:
        for n in range(6):
            fresh()(ones(n + 1))
    assert len(log.compiles) == 4
    assert log.notes == (
        "The first 2 of 6 compilations were dropped: a session keeps the latest 4.",
    )


def test_groups_by_line_by_function_and_by_file() -> None:
    slow, quick = fresh("slow"), fresh("quick")
    with jaxscope.watch() as log:
        for n in (1, 2, 3):
            slow(ones(n))
        quick(X)
    by_function = {group.title: group for group in log.by_function()}
    assert {name: group.count for name, group in by_function.items()} == {"slow": 3, "quick": 1}
    assert by_function["slow"].recompiles == 2
    group = by_function["slow"]
    assert group.total_s == pytest.approx(group.trace_s + group.lower_s + group.compile_s)
    assert sorted(group.count for group in log.by_line()) == [1, 3]
    assert all(group.title.startswith("test_compile_log.py:") for group in log.by_line())
    assert [group.title for group in log.by_cell()] == ["test_compile_log.py"]
    assert [g.total_s for g in log.by_line()] == sorted(
        (g.total_s for g in log.by_line()), reverse=True
    )


def test_a_loop_that_compiles_is_one_storm() -> None:
    with jaxscope.watch() as log:
        for _ in range(5):
            jax.jit(lambda x: x + 1)(X)
    (storm,) = log.storms
    assert storm.serials == tuple(compile.serial for compile in log.compiles)
    assert storm.pattern == "a new `<lambda>` each time"
    text = log.to_text(width=100)
    assert text.count("<lambda> × 5") == 1
    assert "→ Create the function once, outside the loop" in text


def test_eager_operations_are_counted_apart_and_are_no_recompiles() -> None:
    x = jnp.asarray(np.linspace(0, 1, 17, dtype=np.float32).reshape(17, 1))
    with jaxscope.watch() as log:
        _ = (x - x.mean(axis=0)) / x.std(axis=0)
        _ = [jax.random.normal(jax.random.key(0), (n, 3)) for n in (7, 11, 13)]
    assert len(log.compiles) >= 3
    assert {compile.kind for compile in log.compiles} == {CompileKind.EAGER}
    assert (log.storms, log.recompiles) == ((), ())
    assert f"{len(log)} eager operations, " in log.summary()


def test_the_slowest_and_the_rest() -> None:
    with jaxscope.watch() as log:
        for name in ("a", "b", "c"):
            fresh(name)(X)
    part = log.slowest(2)
    assert [c.total_s for c in part] == sorted((c.total_s for c in log), reverse=True)[:2]
    assert part.notes == ("These are the 2 slowest of 3 compiles.",)
    assert log.slowest(1).notes == ("This is the slowest of 3 compiles.",)
    assert log.slowest(9).notes == ()


def test_a_log_can_be_saved_and_loaded(tmp_path: Path) -> None:
    with jaxscope.watch() as log:
        for n in (1, 2, 3):
            jax.jit(lambda x: x + 1)(ones(n))
    for name in ("log.json", "log.json.gz"):
        same = jaxscope.load(log.save(tmp_path / name))
        assert same.log == log.log
        assert same.to_text(width=90) == log.to_text(width=90)
    with pytest.raises(LookupError, match="loaded from a file, which contains no programs"):
        same.report(0)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("no JSON", "is not a jaxscope comparison, diff, report or compile log: "),
        ("[]", "it names no schema"),
        ('{"schema": 99, "compiles": []}', "has schema 99 and this jaxscope reads up to 1"),
        ('{"schema": 1, "compiles": 3, "created": ""}', "Log.compiles must be an array, not int"),
    ],
)
def test_a_file_that_is_no_log_is_refused(tmp_path: Path, text: str, sentence: str) -> None:
    path = tmp_path / "log.json"
    path.write_text(text)
    with pytest.raises(SchemaError, match=sentence):
        jaxscope.load(path)


def test_a_log_has_a_page_whose_tables_hold_everything(tmp_path: Path) -> None:
    with jaxscope.watch() as log:
        fresh("a")(X)
        fresh("b")(X)
    page = log.to_html(tmp_path / "log.html").read_text()
    assert "By function" in page
    assert "default-src 'none'" in page


def test_after_the_block_the_log_is_worked_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    with jaxscope.watch() as log:
        fresh()(X)
        assert log.log is not log.log
    assert log.log is log.log
    monkeypatch.setattr(watch, "build_log", lambda *_: pytest.fail("read again"))
    assert len(log.compiles) == 1


def test_the_program_of_a_compile_can_be_opened() -> None:
    with jaxscope.watch() as log:
        fresh()(X)
    report = log.report(0)
    assert report.stage("optimized_hlo").text.startswith("HloModule")
    assert "multiply" in report.stage("stablehlo").text
    with pytest.raises(IndexError, match=r"The log has 1 compile, and none at 1: give 0 alone\."):
        log.report(1)
    with pytest.raises(IndexError, match="Nothing was compiled, so there is no program"):
        log.only(()).report(0)


def test_a_data_frame_has_a_row_for_each_compile() -> None:
    step = fresh()
    with jaxscope.watch() as log:
        for n in (1, 2, 3):
            step(ones(n))
    frame = log.to_dataframe()
    assert list(frame.function) == ["step"] * 3
    assert list(frame.cause) == ["first_call", "shape", "shape"]
    assert list(frame.recompile) == [False, True, True]
    assert frame.pattern.str.startswith("`x` grows by 1").all()
    assert frame.total_s.sum() == pytest.approx(log.total_s)
    assert set(frame.line) == {"step(ones(n))"}


def test_the_json_is_plain_data_and_holds_no_array() -> None:
    value = np.full(3, 123456.0, np.float32)
    with jaxscope.watch() as log:
        fresh()(value)
    text = json.dumps(log.to_json(), allow_nan=False)
    assert "123456" not in text
    assert json.loads(text)["schema"] == 1


def test_every_compile_can_be_told_to_a_front_end() -> None:
    told: list[Any] = []
    listener = events.Listener()
    with listener, listener.notifying(lambda raw: told.append(raw)):
        step = fresh()
        step(X)
        step(ones(5))
    event = gathered.build_event(listener, told[1])
    assert (event.fun_name, event.recompile, event.line is not None) == ("step", True, True)
    assert event.place.startswith("test_compile_log.py:")
    assert event.text == "step(ones(5))"
    assert "f32[3]" in event.cause
    assert event.fix
    assert event.seconds == pytest.approx(told[1].trace_s + told[1].lower_s + told[1].compile_s)


def test_a_display_that_fails_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    log = jaxscope.CompileLog(lambda: Log("", ()))
    monkeypatch.setattr(jaxscope.CompileLog, "static_html", lambda self: 1 / 0)
    bundle = log._repr_mimebundle_()
    assert bundle == {"text/plain": "Nothing was compiled.\n"}
    monkeypatch.setattr(jaxscope.CompileLog, "to_text", lambda self, **_: 1 / 0)
    bundle = log._repr_mimebundle_()
    assert bundle["text/plain"] == (
        "jaxscope could not draw the compile log (ZeroDivisionError: division by zero)."
    )


def test_an_argument_by_keyword_is_not_static_for_the_place_of_another() -> None:
    scaled = jax.jit(lambda x, scale=1.0, n=1: x * scale * n, static_argnames="n")
    with jaxscope.watch() as log:
        scaled(X, 1.0, n=1)
        scaled(X, scale=1.0, n=1)
    again = log.compiles[1]
    assert "scale: float" in again.signature
    assert [cause.kind for cause in again.causes] == [CauseKind.CALL_STYLE]
