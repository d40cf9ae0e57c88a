"""The persistent cache: what it did with each compile, and why."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import jax
import numpy as np
import pytest
from jax.experimental import compilation_cache

import jaxscope
from jaxscope.capture._jax import CacheRequest
from jaxscope.capture.compiles import persistent_cache
from jaxscope.capture.compiles.listener import Listener, collecting
from jaxscope.model import Persistent
from tests.paths import ROOT

X = np.ones(3, np.float32)
SCRIPT = """
import json, os, sys
import jax, numpy as np
from jaxscope.capture.compiles.listener import Listener, collecting
jax.config.update("jax_compilation_cache_dir", sys.argv[1])
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
how, options = sys.argv[2], {}
if how == "code":
    def f(x): return x - 5
else:
    def f(x): return x - 4
if how == "options":
    options = {"compiler_options": {"xla_cpu_enable_fast_math": True}}
with Listener.shared() as listener, collecting(listener) as run:
    jax.jit(f, **options)(np.ones(3, np.float32))
(made,) = run.compiles()
print(json.dumps([made.persistent, made.persistent_why, listener.notes]))
"""


@pytest.fixture
def cache(tmp_path):
    options = {
        "jax_compilation_cache_dir": str(tmp_path),
        "jax_persistent_cache_min_compile_time_secs": 0.0,
        "jax_persistent_cache_min_entry_size_bytes": -1,
    }
    before = {name: getattr(jax.config, name) for name in options}
    try:
        for name, value in options.items():
            jax.config.update(name, value)
        compilation_cache.compilation_cache.reset_cache()
        yield tmp_path
    finally:
        for name, value in before.items():
            jax.config.update(name, value)
        compilation_cache.compilation_cache.reset_cache()


def compiled(work):
    jax.clear_caches()
    with Listener() as listener, collecting(listener) as run:
        work()
    assert listener.notes == ()
    return run.compiles()[-1]


def test_without_a_cache_there_is_nothing_to_say():
    made = compiled(lambda: jax.jit(lambda x: x + 1)(X))
    assert (made.persistent, made.persistent_why) == (Persistent.OFF, "")


def test_what_is_too_quick_is_not_stored(cache):
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 1000.0)
    made = compiled(lambda: jax.jit(lambda x: x + 2)(X))
    assert made.persistent is Persistent.NOT_WRITTEN
    assert made.persistent_why.startswith("Not stored: compiling took 0.")
    assert made.persistent_why.endswith(
        ", below `jax_persistent_cache_min_compile_time_secs` (1000.00 s)."
    )
    assert not (cache / "jaxscope").exists()


def test_what_holds_callbacks_is_not_stored_where_jax_cannot(cache):
    def f(x):
        jax.debug.callback(lambda v: None, x)
        return x + 3

    made = compiled(lambda: jax.jit(f)(X))
    if made.persistent is Persistent.NOT_WRITTEN:
        assert made.persistent_why == (
            "Not stored: the program has callbacks into this Python process."
        )
    else:  # jax 0.12 stores them
        assert made.persistent is Persistent.WRITTEN


def test_what_is_too_small_is_not_stored(cache, monkeypatch):
    monkeypatch.setattr(
        type(jax.config), "jax_persistent_cache_min_entry_size_bytes", 10**9, raising=False
    )
    request = CacheRequest("jit_f", "jit_f-1", ())
    said = persistent_cache.why(request, Persistent.NOT_WRITTEN, 5.0, callbacks=False)
    assert "smaller than `jax_persistent_cache_min_entry_size_bytes` (1000000000 B)" in said


def test_a_hit_needs_no_words(cache):
    def call():
        def f(x):
            return x + 4

        return jax.jit(f)(X)

    first, again = compiled(call), compiled(call)
    assert (first.persistent, first.persistent_why) == (Persistent.WRITTEN, "")
    assert (again.persistent, again.persistent_why) == (Persistent.HIT, "")
    (noted,) = (cache / "jaxscope").iterdir()
    (entry,) = json.loads(noted.read_text())
    assert entry["key"].startswith("jit_f-")
    assert {"jaxlib version", "XLA flags", "compile options"} <= entry["components"].keys()


def test_the_program_is_what_changed_when_nothing_else_did(cache):
    f = jax.jit(lambda x: x + 5)
    compiled(lambda: f(X))
    made = compiled(lambda: f(np.ones(4, np.float32)))
    assert made.persistent is Persistent.WRITTEN
    assert "Only the program itself changed" in made.persistent_why


def test_another_number_of_arguments_and_results_is_no_change_of_the_compile_options(cache):
    def call(result):
        def f(*args):
            return result(*args)

        return lambda *args: jax.jit(f)(*args)

    compiled(lambda: call(lambda x: x + 9)(X))
    for work in (call(lambda x: (x + 9, x * 2)), lambda x: call(lambda x, y: x + y)(x, x + 1)):
        made = compiled(lambda work=work: work(X))
        assert "Only the program itself changed" in made.persistent_why


def test_what_jaxscope_compiles_for_a_report_is_not_compared(cache):
    def f(x):
        return x + 10

    def report():
        with jaxscope.options(runs=0):
            jaxscope.inspect(f, X)

    compiled(lambda: jax.jit(f)(X))
    made = compiled(report)  # with tags
    assert (made.persistent, made.persistent_why) == (Persistent.WRITTEN, "")


def test_what_jaxscope_did_not_see_being_stored_is_not_explained(cache):
    f = jax.jit(lambda x: x + 6)
    f(X)
    made = compiled(lambda: f(np.ones(4, np.float32)))
    assert "The difference is unknown" in made.persistent_why


def test_an_entry_that_is_gone_is_said_to_be(cache):
    f = jax.jit(lambda x: x + 7)
    compiled(lambda: f(X))
    for file in cache.glob("jit*"):
        file.unlink()
    made = compiled(lambda: f(X))
    assert made.persistent_why == "The persistent cache no longer has this program."


def test_notes_that_cannot_be_read_or_written_do_no_harm(cache):
    (cache / "jaxscope").write_text("a file, where a folder should be")
    made = compiled(lambda: jax.jit(lambda x: x + 8)(X))
    assert (made.persistent, made.persistent_why) == (Persistent.WRITTEN, "")


def test_notes_of_one_module_are_bounded(cache):
    for i in range(40):
        request = CacheRequest("jit_g", f"jit_g-{i}", (("XLA flags", str(i)),))
        persistent_cache.why(request, Persistent.WRITTEN, 5.0, callbacks=False)
    noted = json.loads((cache / "jaxscope" / "jit_g.json").read_text())
    assert [entry["key"] for entry in noted] == [f"jit_g-{i}" for i in range(8, 40)]


@pytest.fixture(scope="module")
def processes(tmp_path_factory):
    """One process that stores a program, and others that look for it after something changed."""
    cache = tmp_path_factory.mktemp("cache")
    script = cache.parent / "script.py"
    script.write_text(SCRIPT)
    found = {}
    for how, flags in (
        ("first", ""),
        ("same", ""),
        ("code", ""),
        ("options", ""),
        ("flags", "--xla_cpu_multi_thread_eigen=false"),
    ):
        environment = {
            **os.environ,
            "JAX_PLATFORMS": "cpu",
            "XLA_FLAGS": flags,
            "PYTHONPATH": str(ROOT),
        }
        done = subprocess.run(
            [sys.executable, str(script), str(cache), how],
            capture_output=True,
            text=True,
            env=environment,
            timeout=400,
        )
        assert done.returncode == 0, done.stderr[-2000:]
        found[how] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.parametrize(
    ("how", "status", "words"),
    [
        ("first", "written", ""),
        ("same", "hit", ""),
        ("code", "written", "Only the program itself changed"),
        ("options", "written", "the compile options"),
        ("flags", "written", "the XLA flags (none → --xla_cpu_multi_thread_eigen=false)"),
    ],
)
def test_between_processes_the_part_that_changed_is_named(processes, how, status, words):
    persistent, why, notes = processes[how]
    assert persistent == status
    assert words in why if words else why == ""
    assert notes == []
