"""Compile events: exact counts on real JAX."""

from __future__ import annotations

import contextlib
import gc
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax._src import monitoring

from jaxscope.capture import _jax
from jaxscope.capture.compiles.listener import Listener, collecting, own_work
from jaxscope.model import CauseKind, CompileKind, Persistent, Source, SourceKind
from tests.private_names import break_private

X = np.ones(3, np.float32)
NAMES_ITS_TRACES = pytest.mark.skipif(
    not hasattr(__import__("jax._src.interpreters.partial_eval", fromlist=["x"]), "trace_to_jaxpr"),
    reason="jax 0.8 cannot say what it has traced",
)


def installed() -> tuple[int, int, int]:
    return (
        len(monitoring.get_event_listeners()),
        len(monitoring.get_event_duration_listeners()),
        len(monitoring.get_scalar_listeners()),
    )


@pytest.fixture(autouse=True)
def nothing_left_behind():
    before = installed()
    yield
    assert installed() == before


@pytest.fixture
def listener():
    with Listener() as listening:
        yield listening


def fresh(name: str = "f"):
    """A jitted function that nobody has compiled."""

    def f(x):
        return jnp.where(x > 1, x, 2 * x)

    f.__name__ = f.__qualname__ = name
    return f


def test_one_compile_for_a_new_signature_and_none_for_a_known_one(listener):
    f = jax.jit(fresh())
    with collecting(listener) as first:
        f(X)
    with collecting(listener) as again:
        f(X)
    with collecting(listener) as longer:
        f(np.ones(4, np.float32))
    assert [len(run.compiles()) for run in (first, again, longer)] == [1, 0, 1]
    assert again.passes() == ()
    assert first.compiles()[0].fun_name == "f"
    assert first.compiles()[0].kind is CompileKind.JIT
    assert first.compiles()[0].signature == ("x: f32[3]",)
    assert min(first.compiles()[0].trace_s, first.compiles()[0].lower_s) > 0
    assert first.compiles()[0].compile_s > 0
    assert listener.compile_count == 2
    assert listener.notes == ()


def test_functions_of_a_kernels_cell_are_in_its_number(listener, monkeypatch):
    file = "/tmp/ipykernel_7/123.py"
    names = "jaxscope.capture.source.cell_names.filename_map"
    monkeypatch.setattr(names, lambda _: {file: 4})
    code = "def made():\n    return jax.jit(lambda x: x * 3)\ndef run(x):\n    return jax.lax.scan("
    code += "lambda c, v: (c + v, c), 0.0, x)"
    space = {"jax": jax}
    exec(compile(code, file, "exec"), space)
    with collecting(listener) as log:
        kept = [space["made"](), space["made"]()]
        for f in kept:
            f(X)
        space["run"](X)
        space["run"](X)
    found = {c.kind: c.text for one in log.compiles() for c in one.causes}
    assert " at In [4], line 2 " in found[CauseKind.NEW_FUNCTION]
    assert found[CauseKind.EAGER_BODY].endswith("<lambda> at In [4], line 4.")


def test_a_trace_found_in_the_cache_takes_no_time(listener):
    f = fresh()
    jax.jit(f)(X)
    x = jax.device_put(X)
    with collecting(listener) as run:
        jax.jit(f, donate_argnums=0)(x)
    (compile,) = run.compiles()
    assert compile.trace_s == 0
    assert compile.lower_s > 0


def test_stages_taken_one_by_one_are_one_compile(listener):
    f = jax.jit(fresh())
    with collecting(listener) as run:
        traced = f.trace(X)
        jnp.ones(7).block_until_ready()  # an unrelated compile in between
        lowered = traced.lower()
        assert [c.fun_name for c in run.compiles() if c.kind is CompileKind.AOT] == []
        lowered.compile()
    (compile,) = [c for c in run.compiles() if c.kind is CompileKind.AOT]
    assert min(compile.trace_s, compile.lower_s, compile.compile_s) > 0
    assert compile.signature == ("x: f32[3]",)


def test_tracing_and_lowering_alone_are_passes_and_no_compiles(listener):
    with collecting(listener) as run:
        jax.jit(fresh()).lower(X)
    assert run.compiles() == ()
    (seen,) = run.passes()
    assert (seen.compile_s, seen.lower_s > 0) == (0, True)


def test_a_call_after_stages_compiles_nothing(listener):
    f = jax.jit(fresh())
    f.trace(X).lower().compile()
    with collecting(listener) as run:
        f(X)
    assert run.compiles() == ()


@pytest.mark.parametrize(
    ("kind", "name", "signature", "work"),
    [
        (CompileKind.EAGER, "sinh", ("x: f32[5]",), lambda: jnp.sinh(np.ones(5, np.float32))),
        (CompileKind.EAGER, "mul", ("arg0: f32[6]", "arg1: f32[6]"), lambda: _primitive()),
        (CompileKind.JIT, "cosh", ("x: f32[5]",), lambda: jax.jit(jnp.cosh)(_ones(5))),
        (CompileKind.TRANSFORMED, "f", ("x: f32[2,3]",), lambda: jax.vmap(jax.jit(fresh()))(_23())),
        (CompileKind.PMAP, "g", ("x: f32[1,3]",), lambda: _pmap()),
        (CompileKind.JIT, "f", ("x: f32[3]",), lambda: jax.jit(jax.grad(_loss()))(X)),
    ],
)
def test_kind_name_and_arguments_are_read_from_the_call(listener, kind, name, signature, work):
    jax.clear_caches()
    with collecting(listener) as run:
        work()
    found = [(c.kind, c.fun_name, c.signature) for c in run.compiles()]
    assert (kind, name, signature) in found
    assert listener.notes == ()


def _ones(n):
    return np.ones(n, np.float32)


def _23():
    return np.ones((2, 3), np.float32)


def _primitive():
    return jax.lax.mul(_ones(6), _ones(6))


def _pmap():
    with contextlib.suppress(DeprecationWarning):
        return jax.pmap(fresh("g"))(np.ones((1, 3), np.float32))


def _loss():
    def f(x):
        return fresh()(x).sum()

    return f


def test_arguments_have_the_names_of_the_function_and_statics_their_value(listener):
    def f(params, n, *rest, scale):
        return jax.tree.map(lambda leaf: leaf * n * scale + rest[0], params)

    with collecting(listener) as run:
        jax.jit(f, static_argnums=1)({"a": _ones(2), "b": _ones(3)}, 3, 1.0, scale=True)
    (compile,) = run.compiles()
    assert compile.signature == ("params: 2 leaves, 20 B", "n=3", "rest[0]: float", "scale: bool")


def test_the_site_is_the_users_expression_in_characters(listener):
    code = 'def call(f, x):\n    text = "ä"; return f(x)\n'
    space: dict[str, object] = {}
    exec(compile(code, "cell-7", "exec"), space)
    source = Source("cell", "cell-7", SourceKind.CELL, code)
    with collecting(listener) as run:
        space["call"](jax.jit(fresh()), X)  # type: ignore[operator]
    site = run.compiles((source,))[0].site
    assert site is not None
    assert (site.source, site.file, site.function) == (0, "cell-7", "call")
    line = source.lines[site.span.line - 1]
    assert line[site.span.column : site.span.end_column] == "f(x)"


def test_compiles_inside_a_trace_are_taken_out_of_its_time(listener):
    inner = jax.jit(fresh("inner"))

    def outer(x):
        with jax.ensure_compile_time_eval():
            return x + inner(jnp.ones(9)).sum()

    with collecting(listener) as run:
        jax.jit(outer)(X)
    compiles = {c.fun_name: c for c in run.compiles()}
    assert compiles["inner"].kind is CompileKind.NESTED
    raw = next(r for r in run.raw if r.fun_name == "inner")
    assert raw.inside == "outer"
    spans = sum(c.total_s for c in run.compiles())
    records = {r.fun_name: r for r in run.raw}
    assert records["outer"].trace_s < spans - compiles["inner"].compile_s


def test_functions_traced_inside_another_are_no_compiles(listener):
    inner = jax.jit(fresh("inner"))
    with collecting(listener) as run:
        jax.jit(lambda x: inner(x) + inner(x + 1))(X)
    assert [c.fun_name for c in run.passes()] == ["<lambda>"]


def test_the_first_call_is_a_cause_and_a_later_one_compares_with_it(listener):
    f = jax.jit(fresh())
    with collecting(listener) as run:
        f(X)
        f(np.ones(4, np.float32))
    first, second = run.compiles()
    assert [c.kind for c in first.causes] == [CauseKind.FIRST_CALL]
    assert "`f`" in first.causes[0].text
    assert [(c.kind, c.path, c.before, c.after) for c in second.causes] == [
        (CauseKind.SHAPE, "x", "f32[3]", "f32[4]")
    ]
    assert (first.nearest, second.nearest) == (None, first.serial)
    assert (first.is_recompile, second.is_recompile) == (False, True)


@NAMES_ITS_TRACES
def test_a_function_compiled_before_listening_is_compared_with_what_jax_holds():
    f = jax.jit(fresh())
    f(X)
    with Listener() as listener, collecting(listener) as run:
        f(np.ones(4, np.float32))
    (compile,) = run.compiles()
    assert [(c.kind, c.path) for c in compile.causes] == [(CauseKind.SHAPE, "x")]
    assert compile.nearest is None


@NAMES_ITS_TRACES
def test_a_call_from_before_listening_is_compared_with_each_later_one_too():
    f = jax.jit(lambda x, n=2: x * n)
    f(X)
    with Listener() as listener, collecting(listener) as run:
        f(np.ones(4, np.float32))
        f(X, n=2)
        f(np.ones(4, np.float32), n=2)
    causes = [[(c.kind, c.path) for c in compile.causes] for compile in run.compiles()]
    assert causes == [
        [(CauseKind.SHAPE, "x")],
        [(CauseKind.CALL_STYLE, "n")],
        [(CauseKind.SHAPE, "x")],
    ]


@NAMES_ITS_TRACES
@pytest.mark.parametrize(
    ("call", "kind", "path"),
    [
        (lambda f: f(X, 3), CauseKind.STATIC_VALUE, "n"),
        (lambda f: f(X, n=2), CauseKind.CALL_STYLE, "n"),
        (lambda f: f(1.0, 2), CauseKind.RANK, "x"),
        (lambda f: more_precisely(f), CauseKind.CONTEXT, "jax_default_matmul_precision"),
        (lambda f: f(jax.device_put(X, jax.devices()[0]), 2), CauseKind.UNKNOWN, ""),
    ],
)
def test_statics_and_settings_from_before_listening_are_known(call, kind, path):
    f = jax.jit(lambda x, n: x * n, static_argnames="n")
    f(X, 2)
    with Listener() as listener, collecting(listener) as run:
        call(f)
    assert next((c.kind, c.path) for c in run.compiles()[0].causes) == (kind, path)
    assert listener.notes == ()


def more_precisely(f):
    with jax.default_matmul_precision("highest"):
        f(X, 2)


def test_own_work_is_hidden(listener):
    with collecting(listener) as run, own_work():
        jax.jit(fresh())(X)
    assert run.raw == []
    assert listener.compile_count == 0
    assert len(listener.records) == 0


def test_what_one_thread_lowers_and_another_compiles_is_one_compile(listener):
    done = []
    with collecting(listener) as run:
        lowered = jax.jit(fresh("handed")).lower(X)
        thread = threading.Thread(target=lambda: done.append(lowered.compile()))
        thread.start()
        thread.join()
    assert len(done) == 1
    (found,) = run.compiles()
    assert (found.fun_name, found.kind) == ("handed", CompileKind.AOT)
    assert [cause.kind for cause in found.causes] == [CauseKind.FIRST_CALL]
    assert found.lower_s > 0
    assert found.compile_s > 0
    assert [raw.number for raw in listener.records] == [found.serial]


def test_what_another_thread_lowered_is_added_to_what_a_block_has_compiled(listener):
    lowered = jax.jit(fresh("handed")).lower(X)
    found = []

    def work():
        with collecting(listener) as run:
            jax.jit(fresh("own"))(X)
            lowered.compile()
        found.extend(one.fun_name for one in run.compiles())

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == ["own", "handed"]


def test_six_threads_compile_five_programs_each(listener):
    runs = {}

    def work(i):
        with collecting(listener) as run:
            for n in range(5):
                jax.jit(fresh(f"t{i}"))(np.ones(n + 1, np.float32))
        runs[i] = run

    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i in range(6):
        assert [c.fun_name for c in runs[i].compiles()] == [f"t{i}"] * 5
        assert all(c.lower_s > 0 and c.compile_s > 0 for c in runs[i].compiles())
    assert len([r for r in listener.records if r.compiled]) == 30
    assert listener.notes == ()
    assert sorted(r.number for r in listener.records) == list(range(1, len(listener.records) + 1))


def test_eight_threads_that_compile_at_once_have_their_own_causes(listener):
    together = threading.Barrier(8)

    def work(i):
        names = {}
        exec(f"def t{i}(v):\n    return v + {i}", names)
        step = jax.jit(names[f"t{i}"])
        together.wait()
        for n in range(20):
            step(np.ones(n + 1, np.float32))

    threads = [threading.Thread(target=work, args=(i,), name=f"t{i}") for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = [listener.history.compile_of(raw) for raw in listener.records if raw.compiled]
    assert len(found) == 160
    for i in range(8):
        own = [one for one in found if one.thread == f"t{i}"]
        assert {one.fun_name for one in own} == {f"t{i}"}
        kinds = [[cause.kind for cause in one.causes] for one in own]
        assert kinds == [[CauseKind.FIRST_CALL], *[[CauseKind.SHAPE]] * 19]


def test_a_failed_trace_is_no_compile_and_the_users_error_stays(listener):
    def f(x):
        raise RuntimeError("mine")

    with collecting(listener) as run, pytest.raises(RuntimeError, match="mine"):
        jax.jit(f)(X)
    assert run.compiles() == ()
    assert [r.error for r in run.raw] == ["RuntimeError"]
    with collecting(listener) as run:
        jax.jit(fresh())(X)
    assert len(run.compiles()) == 1


@pytest.mark.parametrize("name", ["jax_call", "trace_misses", "event_error", "jax_directory"])
def test_a_private_name_that_fails_loses_detail_and_no_count(listener, monkeypatch, name):
    def broken(*_):
        raise AttributeError(f"no {name} any more")

    break_private(monkeypatch, name, broken)
    f = jax.jit(fresh())
    with collecting(listener) as run:
        f(X)
        f(X)
        f(np.ones(4, np.float32))
    assert len(run.compiles()) == 2
    assert all(c.fun_name == "f" and c.compile_s > 0 for c in run.compiles())
    (note,) = listener.notes
    assert f"no {name} any more" in note


def test_a_compile_while_an_exception_is_handled_has_not_failed(listener):
    with collecting(listener) as run:
        try:
            raise ValueError("handled")
        except ValueError:
            jax.jit(fresh())(X)
    assert [compile.error for compile in run.compiles()] == [""]


@NAMES_ITS_TRACES
def test_a_compile_does_not_read_all_that_jax_has_traced(monkeypatch):
    """With thousands of traces alive that takes milliseconds."""
    asked = []
    real = _jax.traced_functions
    break_private(monkeypatch, "traced_functions", lambda: asked.append(1) or real())
    with Listener() as listener, collecting(listener) as run:
        for _ in range(3):
            jax.jit(fresh())(X)
    assert len(run.compiles()) == 3
    assert len(asked) == 1


@NAMES_ITS_TRACES
def test_what_jax_had_traced_is_counted_without_keeping_it():
    f = fresh()
    for size in (1, 2):
        jax.jit(f)(np.ones(size, np.float32))
    before = _jax.traced_functions()
    jax.jit(f)(np.ones(3, np.float32))
    assert before.count(f) == 2
    assert before.count(fresh()) == 0
    gone = weakref.ref(f)
    del f
    gc.collect()
    assert gone() is None


def test_a_failing_hook_does_not_reach_the_user(listener):
    def broken(_):
        raise ZeroDivisionError("hook")

    with collecting(listener, on_compiled=broken) as run:
        jax.jit(fresh())(X)
    assert len(run.compiles()) == 1
    assert listener.errors == 1
    assert "1 compile event could not be read completely" in listener.notes[0]


def test_hooks_see_the_call_the_jaxpr_and_the_executable(listener):
    seen = []

    def on_trace(name):
        seen.append(("trace", name, _jax.calling()))

    def on_lowering(name):
        seen.append(("lower", name, _jax.lowering_jaxpr()))

    def on_compiled(raw):
        seen.append(("xla", raw.fun_name, _jax.compiled_program()))

    python = fresh()
    f = jax.jit(python)
    with collecting(
        listener, on_trace_start=on_trace, on_lowering_start=on_lowering, on_compiled=on_compiled
    ):
        f(x=X)
    trace = next(found for stage, name, found in seen if (stage, name) == ("trace", "f"))
    assert trace.fun is python
    assert (tuple(trace.args), list(trace.kwargs)) == ((), ["x"])
    (jaxpr,) = [found for stage, _, found in seen if stage == "lower"]
    assert len(jaxpr.eqns) == 3
    (program,) = [found for stage, _, found in seen if stage == "xla"]
    assert "stablehlo" in str(program.module)
    assert "HloModule" in program.executable.hlo_modules()[0].to_string()


def test_outside_a_call_there_is_nothing_to_see():
    assert _jax.calling() is None
    assert _jax.lowering_jaxpr() is None
    assert _jax.compiled_program() is None
    assert _jax.event_error() == ""


def test_the_persistent_cache_is_told_apart(listener, tmp_path):
    from jax.experimental import compilation_cache

    def cached(name):
        jax.clear_caches()
        with collecting(listener) as run:
            jax.jit(fresh(name))(X)
        (compile,) = run.compiles()
        return compile.persistent

    assert cached("p0") is Persistent.OFF
    options = {
        "jax_compilation_cache_dir": str(tmp_path),
        "jax_persistent_cache_min_compile_time_secs": 1000.0,
        "jax_persistent_cache_min_entry_size_bytes": -1,
    }
    before = {name: getattr(jax.config, name) for name in options}
    try:
        for name, value in options.items():
            jax.config.update(name, value)
        compilation_cache.compilation_cache.reset_cache()
        assert cached("p1") is Persistent.NOT_WRITTEN
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
        assert cached("p1") is Persistent.WRITTEN
        assert cached("p1") is Persistent.HIT
    finally:
        for name, value in before.items():
            jax.config.update(name, value)
        compilation_cache.compilation_cache.reset_cache()


def test_no_array_and_no_function_is_kept_alive(listener):
    big = jnp.ones(100)
    python = fresh()
    f = jax.jit(python)
    f(big)
    arrays, functions = weakref.ref(big), weakref.ref(python)
    del big, python, f
    gc.collect()
    assert arrays() is None
    assert functions() is None


def test_leaving_does_not_raise_when_somebody_cleared_all_listeners():
    saved = (
        list(monitoring.get_event_listeners()),
        list(monitoring.get_event_duration_listeners()),
    )
    with Listener():
        jax.monitoring.clear_event_listeners()
    for callback in saved[0]:
        monitoring.register_event_listener(callback)
    for callback in saved[1]:
        monitoring.register_event_duration_secs_listener(callback)


def test_a_listener_that_misses_the_start_still_counts_the_compile():
    listener = Listener()
    with listener, collecting(listener) as run:
        monitoring.unregister_scalar_listener(listener._on_start)
        jax.jit(lambda x: x + 1)(X)
    assert [c.fun_name for c in run.compiles()] == ["<lambda>"]
    assert run.compiles()[0].lower_s > 0


def test_a_listener_listens_until_the_last_has_left():
    before = installed()
    listener = Listener()
    with listener:
        listener.__enter__()
        assert installed() == tuple(n + 1 for n in before)
    assert listener.listening
    jax.jit(fresh())(X)
    assert len(listener.records) == 1
    listener.__exit__()
    assert not listener.listening
    assert installed() == before


def test_listeners_that_were_cleared_are_put_back(listener):
    assert not listener.listen_again()
    before = installed()
    monitoring.unregister_event_duration_listener(listener._on_end)
    monitoring.unregister_event_listener(listener._on_event)
    assert listener.listen_again()
    assert installed() == before
    assert listener.losses == 1
    jax.jit(fresh())(X)
    assert [raw.compiled for raw in listener.records] == [True]


def test_what_was_compiled_since(listener):
    for _ in range(2):
        jax.jit(fresh())(X)
    seen = listener.count
    jax.jit(fresh("late"))(X)
    assert [raw.fun_name for raw in listener.since(seen)] == ["late"]
    assert len(listener.since(0)) == 3
    assert listener.since(listener.count) == ()


def test_a_subscriber_is_notified_of_every_compile_and_may_fail(listener):
    heard = []

    def hear(raw):
        heard.append((raw.fun_name, raw.compiled))
        raise ValueError("mine")

    with listener.notifying(hear):
        assert jax.jit(fresh())(X).shape == (3,)
    jax.jit(fresh())(X)
    assert heard == [("f", True)]
    assert listener.first_error == "ValueError: mine"


def test_the_listener_that_is_there_is_found():
    assert _jax.monitors(Listener) is None
    with Listener() as listener:
        assert _jax.monitors(Listener) is listener


def test_a_leftover_listener_would_be_noticed():
    before = installed()
    leftover = Listener()
    leftover.__enter__()
    assert installed() == tuple(n + 1 for n in before)
    leftover.__exit__()
    assert installed() == before


def test_a_block_has_what_compiles_on_threads_that_start_inside_of_it():
    def compiles(function):
        with ThreadPoolExecutor(1) as pool:
            pool.submit(jax.jit(function), X).result()

    with ThreadPoolExecutor(1) as earlier, Listener() as listener:
        earlier.submit(int).result()
        with collecting(listener) as run:
            compiles(fresh())
            earlier.submit(jax.jit(fresh()), X).result()
        compiles(fresh())
        assert len(run.compiles()) == 1
        with collecting(listener) as run, ThreadPoolExecutor(1) as other:

            def both():
                with collecting(listener) as inner:
                    compiles(fresh())
                    jax.jit(fresh())(X)
                return inner

            inner = other.submit(both).result()
        # That of the innermost thread may be of either.
        assert (len(run.compiles()), len(inner.compiles())) == (0, 1)
