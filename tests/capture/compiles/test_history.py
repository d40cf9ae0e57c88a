"""What a listener remembers: bounded, harmless, and as much as it can when JAX has changed."""

from __future__ import annotations

import functools
import gc
import threading
import tracemalloc
import weakref

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from jaxscope.analysis.compiles.causes.signature import (
    BARE,
    ArgumentLeaf,
    CallSignature,
    JittedFunction,
    TracedArgument,
)
from jaxscope.capture import _jax
from jaxscope.capture.compiles.history import History
from jaxscope.capture.compiles.listener import Listener, collecting
from jaxscope.capture.compiles.raw_compile import RawCompile
from jaxscope.capture.compiles.signature.earlier_traces import EarlierTraces
from jaxscope.capture.compiles.signature.reader import SignatureReader
from jaxscope.capture.compiles.signature.values import ObjectIds
from jaxscope.model import CauseKind, CompileKind, to_json
from tests.private_names import break_private

X = np.ones(3, np.float32)


def made(history: History, i: int, functions: int = 1) -> RawCompile:
    """A compile as the listener records it, of one of so many functions."""
    serial = i % functions + 1
    leaf = ArgumentLeaf((i % 1000,), "f32", 4)
    known = JittedFunction(
        serial, "f", "f", "__main__", "train.py", line=3, code_id=serial, code_hash=serial
    )
    raw = RawCompile("f", "MainThread", 0.0)
    raw.call = CallSignature(known, (TracedArgument("x", BARE, (leaf,)),))
    raw.compiled = True
    history.add(raw)
    history.finished(raw)
    return raw


@pytest.mark.parametrize("functions", [1, 100_000])
def test_a_hundred_thousand_compiles_take_bounded_memory(functions):
    history = History(kept=2000)
    for i in range(90_000):
        made(history, i, functions)
    gc.collect()
    tracemalloc.start()
    try:
        for i in range(90_000, 100_000):
            made(history, i, functions)
        gc.collect()
        grown, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert history.count == 100_000
    assert len(history.records) == len(history._by_number) == 2000
    assert sum(map(len, history._families.values())) <= 3 * 2000
    assert len(history._families) <= 3 * 2000
    assert grown < 10_000_000  # those that are kept: 2000 of 3 kB
    assert history.explained(history.records[-1]).causes != ()


def test_a_hundred_thousand_functions_take_bounded_memory():
    earlier = EarlierTraces(ObjectIds())
    assert [earlier.first(1), earlier.first(1)] == [True, False]
    assert all(earlier.first(function) for function in range(2, 100_000))
    assert len(earlier._seen) <= 20_000
    assert [earlier.first(0), earlier.first(0)] == [True, True]  # without an id


def test_a_compile_that_is_forgotten_says_what_it_was_and_not_why():
    history = History(kept=2)
    raw = made(history, 0)
    for i in range(1, 4):
        made(history, i)
    assert history.get(raw.number) is None
    assert history.compile_of(raw).causes == ()
    assert history.compile_of(raw).fun_name == "f"


def test_a_cause_that_was_worked_out_is_kept():
    history = History(kept=3)
    made(history, 0)
    raw = made(history, 1)
    assert [c.kind for c in history.compile_of(raw).causes] == [CauseKind.SHAPE]
    for i in range(2, 9):
        made(history, i)
    assert [c.kind for c in history.compile_of(raw).causes] == [CauseKind.SHAPE]


def test_events_by_the_thousand_leave_no_more_behind(monkeypatch):
    """Through the listener itself, with calls that JAX never made."""
    shapes = iter(range(10**6))

    def call():
        return _jax.JaxCall(
            CompileKind.JIT, kept, args=(np.ones(next(shapes) % 500, np.float32),), kwargs={}
        )

    def kept(x):
        return x

    break_private(monkeypatch, "jax_call", call)
    listener = Listener()
    listener.history = listener._open.history = History(kept=500)
    stages = (
        "/jax/core/compile/jaxpr_to_mlir_module_duration",
        "/jax/core/compile/backend_compile_duration",
    )
    for _ in range(2000):
        for event in stages:
            listener._on_start(event, 0.0, fun_name="jit(kept)")
            listener._on_end(event, 0.001, fun_name="jit(kept)")
    assert listener.notes == ()
    assert listener.compile_count == 2000
    assert len(listener.records) == 500
    assert len(listener._open.here.open) == 0
    assert len(listener._open.reader.ids) < 10
    assert listener.history.explained(listener.records[-1]).causes[0].kind is CauseKind.SHAPE


def test_no_array_lives_longer_because_of_a_recompile_and_its_cause():
    def run(listener):
        f = jax.jit(lambda tree: jax.tree.map(lambda v: v + 1, tree))
        arrays = [jnp.ones(n) for n in (3, 4)]
        for value in arrays:
            f({"w": value})
        raws = [raw for raw in listener.records if raw.fun_name == "<lambda>"]
        assert listener.history.compile_of(raws[-1]).causes[0].path == "tree['w']"
        return [weakref.ref(value) for value in arrays], raws

    with Listener() as listener:
        dead, _raws = run(listener)
        gc.collect()
        assert [reference() for reference in dead] == [None, None]


def test_two_threads_that_compile_one_function_are_told_apart():
    f = jax.jit(lambda x: x * 2)
    with Listener() as listener:
        threads = [
            threading.Thread(target=lambda n=n: f(np.ones(n, np.float32)), name=f"t{n}")
            for n in (3, 4, 5)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        compiles = [listener.history.compile_of(raw) for raw in listener.records if raw.compiled]
    assert {c.thread for c in compiles} == {"t3", "t4", "t5"}
    assert {c.causes[0].kind for c in compiles} <= {CauseKind.FIRST_CALL, CauseKind.SHAPE}
    assert all(c.nearest is None or c.nearest < c.serial for c in compiles)


def test_an_interrupt_in_a_trace_is_no_compile_and_the_next_is_a_first():
    broken = [True]

    def f(x):
        if broken:
            raise KeyboardInterrupt
        return x

    jitted = jax.jit(f)
    with Listener() as listener, collecting(listener) as run:
        with pytest.raises(KeyboardInterrupt):
            jitted(X)
        broken.clear()
        jitted(X)
    assert run.raw[0].error == "KeyboardInterrupt"
    (compile,) = run.compiles()
    assert compile.causes[0].kind is CauseKind.FIRST_CALL
    assert "failed with KeyboardInterrupt" in compile.causes[0].text
    assert listener._open.here.open == []


def test_seconds_inside_are_counted_with_what_happened_there():
    inner = jax.jit(lambda x: jnp.sin(x) * 2)

    def outer(x):
        with jax.ensure_compile_time_eval():
            return x + inner(jnp.ones(11)).sum()

    with Listener() as listener, collecting(listener) as run:
        jax.jit(outer)(X)
    compiles = run.compiles()
    whole = next(c for c in compiles if c.fun_name == "outer")
    parts = [c for c in compiles if c.parent == whole.serial]
    assert "<lambda>" in [c.fun_name for c in parts]
    # A busy machine may lengthen the whole between its parts, never shorten it.
    assert whole.inside_s > 0.5 * sum(c.total_s for c in parts)
    assert listener.notes == ()


def test_the_frames_above_and_the_definition_are_told():
    def train(f, x):
        return f(x)

    @jax.jit
    def step(x):
        return x + 1

    with Listener() as listener, collecting(listener) as run:
        train(step, X)
    (compile,) = run.compiles()
    assert [frame.function for frame in compile.stack[:2]] == [
        "train",
        "test_the_frames_above_and_the_definition_are_told",
    ]
    assert compile.stack[0] == compile.site
    assert compile.defined.file == __file__
    assert compile.defined.function == "step"
    assert compile.thread == "MainThread"
    assert compile.started > 0
    assert listener.notes == ()


def work() -> list[np.ndarray]:
    """Calls of every kind."""
    f = jax.jit(lambda x, n: x * n, static_argnums=1)
    g = jax.jit(lambda x: (x * x).sum())
    found = [
        f(X, 2),
        f(X, 3),
        f(np.ones(4, np.float32), 3),
        jax.vmap(g)(np.ones((2, 3), np.float32)),
        jax.grad(g)(X),
        jax.jit(jax.grad(lambda x: (x + 1).sum()))(X),
        g.lower(np.ones(7, np.float32)).compile()(np.ones(7, np.float32)),
        lax.scan(lambda c, v: (c + v, c), 0.0, jnp.ones(4))[1],
        jnp.ones(10)[:3],
    ]
    with jax.default_matmul_precision("highest"):
        found.append(f(X, 2))
    return [np.asarray(value) for value in found]


expected = functools.cache(work)

READ = (
    "jax_call",
    "still_called",
    "jit_options",
    "stage_options",
    "bodies",
    "body_functions",
    "outline",
    "is_uncached",
    "trace_context",
    "named_settings",
    "transform_of",
    "earlier_traces",
    "traced_functions",
    "lowering_jaxpr",
    "constant_bytes",
    "compiled_program",
    "cache_request",
    "_transforms",
    "_primitive",
    "_jitted",
)


@pytest.mark.parametrize("name", READ)
def test_a_private_name_of_jax_that_is_gone_loses_detail_only(name, monkeypatch):
    def broken(*_, **__):
        raise AttributeError(f"no {name} any more")

    expected()
    break_private(monkeypatch, name, broken)
    with Listener() as listener, collecting(listener) as run:
        found = work()
    jax.tree.map(np.testing.assert_array_equal, found, expected())
    compiles = run.compiles()
    assert len(compiles) >= 7
    assert all(c.compile_s > 0 and c.fun_name and c.causes for c in compiles)
    assert all(cause.text for c in compiles for cause in c.causes)
    to_json(compiles[0])


@pytest.mark.parametrize(
    "part", [(SignatureReader, "read"), (History, "add"), (History, "finished")]
)
def test_a_part_of_ours_that_fails_never_reaches_the_call(part, monkeypatch):
    def broken(*_, **__):
        raise ZeroDivisionError("ours")

    monkeypatch.setattr(*part, broken)
    with Listener() as listener, collecting(listener) as run:
        assert jax.jit(lambda x: x + 41)(X).shape == (3,)
    assert any("ours" in note for note in listener.notes)
    assert all(cause.text for c in run.compiles() for cause in c.causes)


def test_a_first_compile_is_said_to_be_traced_before_for_the_same_code_alone():
    def f(x):
        return x + 43

    with Listener() as listener, collecting(listener) as run:
        jax.make_jaxpr(f)(X)
        jax.jit(lambda x: x * 43)(X)
        jax.jit(f)(X)
    texts = [one.causes[0].text for one in run.compiles()]
    before = "It was traced before, but not compiled."
    assert [before in text for text in texts] == [False, True]


def test_a_first_compile_of_a_trace_inside_another_is_no_recompile():
    f = jax.jit(lambda x: x + 44)
    with Listener() as listener, collecting(listener) as run:
        jax.jit(lambda x: f(x) * 2).trace(X)
        f.lower(X).compile()
        f.lower(X).compile()
    compiled = [one.causes[0] for one in run.compiles() if one.compile_s]
    assert compiled[0].kind is CauseKind.FIRST_CALL
    assert "this version of JAX" not in "".join(one.text for one in compiled)


def test_an_eager_operation_is_compared_with_the_same_operation_alone():
    with Listener() as listener, collecting(listener) as run:
        for function, size in ((lax.erf, 1017), (lax.atanh, 1018), (lax.atanh, 1019)):
            function(np.ones(size, np.float32))
    causes = [one.causes[0].kind for one in run.compiles()]
    assert causes == [CauseKind.EAGER_OP, CauseKind.EAGER_OP, CauseKind.EAGER_SHAPE]


def test_a_cause_that_cannot_be_worked_out_says_so(monkeypatch):
    def broken(*_, **__):
        raise ZeroDivisionError("ours")

    monkeypatch.setattr(History, "explain", broken)
    with Listener() as listener, collecting(listener) as run:
        jax.jit(lambda x: x + 42)(X)
    (cause,) = run.compiles()[0].causes
    assert cause.kind is CauseKind.UNKNOWN
    assert "could not determine it (ZeroDivisionError: ours)" in cause.text
    assert listener.notes == ()


def test_code_of_the_users_that_runs_while_we_look_is_not_heard():
    class Noisy:
        """A static value whose text is computed by JAX, which compiles."""

        def __eq__(self, other):
            return isinstance(other, Noisy)

        def __hash__(self):
            return 1

        def __repr__(self):
            return f"Noisy({jnp.arange(13).sum()})"

    with Listener() as listener, collecting(listener) as run:
        jax.jit(lambda x, n: x, static_argnums=1)(X, Noisy())
    (compile,) = run.compiles()
    assert compile.signature == ("x: f32[3]", "n=Noisy(78)")
    assert listener.notes == ()
