"""Two engines of ipyparallel, and two of Dask, with two simulated devices each, as a notebook uses
them.

One cluster of each for all tests of the file; each process ends itself after `LIFE_S`.
"""

import os
import re
import signal
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from jaxscope.capture.cluster.process import ClusterError
from jaxscope.cluster import attach, cluster, dask_engines, engine_cell
from tests.cluster.launchers import LAUNCHERS, attached
from tests.cluster.scenarios import GUARD, SCENARIOS, SETUP, play, px
from tests.magics.notebook import Notebook, Ran, open_notebook

pytestmark = [pytest.mark.jax, pytest.mark.kernel]
LIFE_S = 900


@pytest.fixture(scope="module")
def notebook() -> Iterator[Notebook]:
    with open_notebook() as opened:
        yield opened


@pytest.fixture(scope="module", params=LAUNCHERS)
def client(request: pytest.FixtureRequest, notebook: Notebook) -> Iterator[object]:
    pytest.importorskip(LAUNCHERS[request.param])
    with attached(request.param, notebook) as found:
        yield found


@pytest.fixture(scope="module")
def ready(notebook: Notebook, client: object) -> str:
    """The cluster after init; the text of the pre-flight table."""
    text = notebook.must("%jaxcluster init --devices-per-process 2 -o setup").text
    px(notebook, SETUP.format(life_s=LIFE_S))
    return text


def interrupted(notebook: Notebook, cell: str, when: Any) -> Ran:
    """A cell that the user interrupts as soon as `when` says so.

    A shell that starts the tests in the background has SIGINT ignored.
    """

    def wait() -> None:
        end = time.monotonic() + 30
        while not ended.is_set() and not when() and time.monotonic() < end:
            time.sleep(0.05)
        if not ended.is_set():
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    def ring(*_: object) -> None:
        if not ended.is_set():  # else it would end pytest
            raise KeyboardInterrupt

    ended = threading.Event()
    waiting = threading.Thread(target=wait, daemon=True)
    before = signal.signal(signal.SIGINT, ring)
    waiting.start()
    try:
        return notebook.run(cell)
    except KeyboardInterrupt as error:
        raise AssertionError("The interrupt left the cell.") from error
    finally:
        ended.set()
        waiting.join()
        signal.signal(signal.SIGINT, before)


def test_the_preflight_table_has_versions_and_devices(ready: str) -> None:
    assert "Pre-flight · 2 processes · all equal" in ready
    assert "2 × cpu, 4 in all" in ready
    assert "jaxlib" in ready


def test_a_second_init_says_that_jax_has_started(notebook: Notebook, ready: str) -> None:
    refused = notebook.run("%jaxcluster init")
    assert "JAX has already started on engines 0 and 1" in refused.message


def test_equal_programs_are_compared_and_not_reported(notebook: Notebook, ready: str) -> None:
    printed = px(
        notebook, "f = jax.jit(lambda x: (x * 2).sum())\nfor _ in range(3): v = float(f(x))"
    )
    assert "jaxscope" not in printed
    notebook.must("%jaxcluster status -o state")
    states = notebook.names["state"].states
    assert [state["divergences"] for state in states] == [[], []]
    assert {state["compared"] for state in states} == {1}
    assert max(state["most operations"] for state in states) <= 5


def test_by_default_a_divergence_is_printed_with_both_lines(notebook: Notebook, ready: str) -> None:
    printed = px(
        notebook, "g = jax.jit(lambda x: x.sum() * (2 if p else 3))\nfloat(g(x))\nprint('ran')"
    )
    assert "with different constants" in printed
    assert re.search(r"process 0 at In \[\d+\]:3 `float\(g\(x\)\)`", printed)
    assert re.search(r"process 1 at In \[\d+\]:3 `float\(g\(x\)\)`", printed)
    assert printed.endswith("\nran\n")


def test_a_wrong_order_is_reported_again_after_others_were_right(
    notebook: Notebook, ready: str
) -> None:
    swapped = (
        "for h in (jnp.max, jnp.sum) if p else (jnp.sum, jnp.max): float(jax.jit(named(h))(x))"
    )
    named = (
        "def named(h):\n    def f(x): return h(x) + {0}\n    f.__name__ = h.__name__\n    return f"
    )
    equal = "for i in range(6): float(jax.jit(lambda x: x.sum() + 100 + i)(x))"
    for number in (31, 32):
        text = px(notebook, f"jnp = jax.numpy\n{named.format(number)}\n{swapped}")
        assert "the order of calls differs" in text
        assert "jaxscope" not in px(notebook, equal.replace("100", f"{number}00"))


@pytest.fixture
def guarded(notebook: Notebook, ready: str) -> Iterator[None]:
    notebook.must(GUARD)
    yield
    notebook.must("%jaxcluster guard warn")


@pytest.mark.usefixtures("guarded")
@pytest.mark.parametrize("name", SCENARIOS)
def test_with_the_guard_on_a_difference_is_named_and_the_engines_stay_usable(
    notebook: Notebook, name: str
) -> None:
    played = play(notebook, SCENARIOS[name])
    assert played.right, played


@pytest.mark.usefixtures("guarded")
@pytest.mark.parametrize(
    "code", ["z = (x * (1 + p)).sum()", "def f(v): return (v * (1 + p)).sum()\nz = f(x)"]
)
def test_with_the_guard_on_a_cell_with_a_report_runs_nothing_either(
    notebook: Notebook, code: str
) -> None:
    ran = notebook.run(f"%%jaxjit --engines all\n{code}")
    assert "processes 0 and 1: Divergence: " in ran.message
    assert "plain Python" not in ran.text + ran.message


def test_a_cell_on_all_engines_gives_one_report(notebook: Notebook, ready: str) -> None:
    ran = notebook.must("%%jaxjit --engines all -o one\ny = (x * 2).sum()\nprint('traced')")
    found = notebook.names["one"]
    assert "Cluster · 2 processes · programs: 2 of 2 same" in ran.text
    assert "2 │ y = (x * 2).sum()" in ran.text
    assert "1 │ %%jaxjit --engines all -o one" in ran.text
    assert ran.printed.count("traced") == 1  # equal on both
    assert [group.processes for group in found.programs] == [(0, 1)]
    assert list(found.reports) == [0]
    assert "128.0" in px(notebook, "print(float(y))")
    assert re.fullmatch(r"Out\[\d+\]: 128\.0\n+", px(notebook, "float(y)"))
    assert px(notebook, "float(y);") == ""


def test_many_engines_merge_their_answers_and_one_of_them_sends_it(
    notebook: Notebook, ready: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "GATHERED_FROM", 2)
    code = "y = (x * 3).sum()\nprint('traced', p)"
    ran = notebook.must(f"%%jaxjit --engines all -o one\n{code}")
    found = notebook.names["one"]
    assert found.runs == ()
    assert [group.processes for group in found.programs] == [(0, 1)]
    assert list(found.reports) == [0]
    assert "Cluster · 2 processes · programs: 2 of 2 same" in ran.text
    assert "[process 1] traced 1" in ran.printed
    assert "process 1: ZeroDivisionError" in px(notebook, "1 / (1 - p)")
    px(notebook, "s = jax.jit(lambda x: (x * 2).sum())\nfloat(s(x))")
    code = "import time\nfor _ in range(3):\n    time.sleep(0.2 * p)\n    v = float(s(x))\nprint(p)"
    ran = notebook.must(f"%%jaxcluster profile -o waits\n{code}")
    assert notebook.names["waits"].traces == ()
    assert notebook.names["waits"].waits.late[0].process == 1
    assert "[process 0] 0" in ran.printed
    notebook.must("%jaxcluster status -o state")
    state = notebook.names["state"]
    assert (state.states, state.busy) == ((), ())
    found = sorted((p, group.state) for group in state.groups for p in group.processes)
    assert found == [(0, "ready"), (1, "ready")]
    head = "%%jaxbench --engines all --time-limit 30 -o bench n=normal(8)\n# jax\n"
    ran = notebook.must(f"{head}n.sum()")
    assert "to the fastest" in ran.text
    assert list(notebook.names["bench"].comparisons) == [0]
    ran = notebook.must(f"{head}n.sum() * (p + 2)")
    assert "The programs differ" in ran.text
    assert list(notebook.names["bench"].comparisons) == [0, 1]
    monkeypatch.undo()  # else this cell itself leaves its answer there
    text = px(
        notebook,
        "from jaxscope.capture._jax import distributed\n"
        "print(distributed.coordination_service().client.key_value_dir_get('jaxscope/all/'))",
    )
    assert text.strip() == "[]"


def test_programs_that_differ_are_shown_by_process(notebook: Notebook, ready: str) -> None:
    ran = notebook.must("%%jaxjit --engines all -o two\nz = jax.numpy.ones(4) + (2 if p else 3)")
    assert "1 of 2: process 1" in ran.text
    assert list(notebook.names["two"].reports) == [0, 1]


def test_the_slowest_process_of_a_line_is_named(notebook: Notebook, ready: str) -> None:
    code = "import time\nfor _ in range(5):\n    time.sleep(0.2 * p)\n    w = (x * 2).sum()"
    ran = notebook.must(f"%%jaxprof --engines all -o prof\n{code}")
    slept = notebook.names["prof"].lines[4]
    assert slept.highest == 1
    assert slept.high >= 1.0
    assert "process 1" in next(line for line in ran.text.splitlines() if "sleep(0.2" in line)


def test_a_straggler_is_blamed_with_its_line(notebook: Notebook, ready: str) -> None:
    px(notebook, "s = jax.jit(lambda x: (x * 2).sum())\nv = float(s(x))")
    code = "import time\nfor _ in range(4):\n    time.sleep(0.3 * p)\n    v = float(s(x))"
    ran = notebook.must(f"%%jaxcluster profile -o waits\n{code}")
    worst = notebook.names["waits"].waits.late[0]
    assert worst.process == 1
    assert worst.host_s > worst.device_s
    assert "process 1 made the others wait" in " ".join(ran.text.split())
    assert re.search(r"host late at In \[\d+\]:4 `time.sleep", " ".join(ran.text.split()))


def test_calls_of_compiled_functions_in_a_different_order_are_found(
    notebook: Notebook, ready: str
) -> None:
    define = "def a(x): return x.sum() + 1\ndef b(x): return x.max() + 1\n"
    px(notebook, f"{define}ja, jb = jax.jit(a), jax.jit(b)\nfloat(ja(x)), float(jb(x))")
    swapped = "for h in (jb, ja) if p else (ja, jb): float(h(x))"
    ran = notebook.must(f"%%jaxcluster profile\n{swapped}")
    assert "the order of calls differs" in " ".join(ran.text.split())
    ran = notebook.must(f"%%jaxprof --engines all\n{swapped}")
    assert "Cluster · 2 processes · the order of calls differs" in ran.text
    said = " ".join(ran.text.split())
    assert re.search(r"Collective 1 is \S+ of `a` on process 0 and \S+ of `b` on process 1", said)
    assert "order" not in notebook.must("%%jaxprof --engines all\nfloat(ja(x)), float(jb(x))").text


def test_calls_of_a_cell_in_a_different_order_are_found_without_a_profile(
    notebook: Notebook, ready: str
) -> None:
    define = "def a(x): return x.sum() + 1\ndef b(x): return x.max() + 1\n"
    equal = notebook.must(f"%%jaxjit --engines all\n{define}float(a(x)), float(b(x))")
    assert "order of calls" not in " ".join(equal.text.split())
    swapped = "for h in (a, b, b) if p else (a, b, a): float(h(x))"
    ran = notebook.must(f"%%jaxjit --engines all\n{define}{swapped}")
    assert "Cluster · 2 processes · the order of calls differs" in ran.text
    assert "Call 3 is `a(float32[8" in " ".join(ran.text.split())
    printing = define.replace("return x.sum()", "print(x) if p else 0; return x.sum()")
    # One of them runs as plain Python on process 1.
    ran = notebook.must(f"%%jaxjit --engines all\n{printing}float(a(x)), float(b(x))")
    assert "order of calls" not in " ".join(ran.text.split())
    local = "for h in (a, b) if p else (b, a): float(h(np.ones(3, 'f')))"
    ran = notebook.must(f"%%jaxjit --engines all\n{define}{local}")
    assert "order of calls" not in " ".join(ran.text.split())


def test_an_error_on_one_process_is_named_with_its_line(
    notebook: Notebook, ready: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_cell, "current_shell", lambda: notebook.shell)
    refused = notebook.run("%%jaxprof --engines all\nq = 1\n1 / (1 - p)")
    assert "process 1: ZeroDivisionError: division by zero" in refused.message
    number = notebook.shell.execution_count - 1
    assert f"(In [{number}]:3)" in refused.message
    refused = notebook.run("%%jaxjit --engines all\nif x.sum() > 2: q = 2")
    assert f"(In [{number + 1}]:2). Line 2: `x` is traced." in refused.message


def test_a_benchmark_runs_on_each_engine_and_is_ranked_only_where_they_agree(
    notebook: Notebook, ready: str
) -> None:
    head = "%%jaxbench --engines all --time-limit 30 -o bench n=normal(8)\n# jax\n"
    ran = notebook.must(f"{head}n.sum()")
    assert "to the fastest" in ran.text
    assert sorted(notebook.names["bench"].comparisons) == [0, 1]
    assert notebook.names["bench"].unranked == {}
    ran = notebook.must(f"{head}n.sum() * (p + 2)")
    assert "The programs differ" in ran.text
    refused = notebook.run("%%jaxbench --engines all\nx.sum()")
    assert "`x` spans processes" in refused.message


def test_a_benchmark_over_one_mesh_is_ranked_only_where_results_agree(
    notebook: Notebook, ready: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_cell, "current_shell", lambda: notebook.shell)
    head = "%%jaxbench --engines all --global --time-limit 0.2 -o mesh"
    ran = notebook.must(
        f"{head}\n# setup\nk = 2.0\n# jax: sum\n(x * k).sum()\n# jax: twice\nx.sum() + x.sum()"
    )
    found = notebook.names["mesh"]
    assert "Benchmark · 2 processes · over one mesh" in ran.text
    assert "to the fastest" in ran.text
    assert found.unranked == ""
    assert {row.label: {len(one.samples) for one in row.calls} for row in found.rows}.keys() == {
        "jax: sum",
        "jax: twice",
    }
    assert all(len({len(one.samples) for one in row.calls}) == 1 for row in found.rows)
    ran = notebook.must(f"{head}\n# jax: sum\nx.sum()\n# jax: max\nx.max()")
    assert "not ranked" in ran.text
    assert "The results of jax: sum and jax: max differ by" in " ".join(ran.text.split())
    refused = notebook.run(f"{head}\n# numpy\nx.sum()")
    assert "--global times sections of JAX" in refused.message
    refused = notebook.run(f"{head}\n# jax\n1 / (1 - p) + np.ones(3).sum()")
    assert "The cell failed on process 1: ZeroDivisionError" in refused.message
    assert f"(In [{notebook.shell.execution_count - 1}]:3)" in refused.message
    refused = notebook.run("%%jaxbench --engines all --global --vs numpy\nx.sum()")
    assert "--time-limit, not --vs" in refused.message


def test_an_interrupt_of_python_or_of_a_compilation_leaves_the_engines_usable(
    notebook: Notebook, ready: str
) -> None:
    waits = "import time\nfor _ in range(20_000): time.sleep(0.01)"
    began = time.monotonic()
    interrupted(
        notebook,
        f"%%jaxcluster run\n{waits}",
        lambda: time.monotonic() > began + 1,
    )
    assert time.monotonic() < began + 150
    long = "def f(x):\n    for i in range(400): x = jax.numpy.sin(x) @ x\n    return x"
    compiled = f"jax.jit(f).lower(np.ones((8, 8), 'f')).compile()\n{waits}"
    began = time.monotonic()
    interrupted(
        notebook,
        f"%%jaxcluster run\n{long}\n{compiled}",
        lambda: time.monotonic() > began + 1,
    )
    assert "72.0" in px(notebook, "print(float(jax.jit(lambda x: x.sum() + 8)(x)))")


def test_a_hang_is_reported_while_it_lasts_and_an_interrupt_poisons_the_cluster(
    notebook: Notebook, client, ready: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    px(notebook, "w = jax.jit(lambda x: x.sum() + 21)\nv = float(w(x))")
    facts = {fact.name: fact.by_process for fact in notebook.names["setup"].facts}
    busy: list[int] = []

    def seen() -> bool:
        if "maybe a hang" not in getattr(sys.stderr, "getvalue", str)():
            return False
        busy.extend(attach(client).status().busy)
        return True

    hangs = "%%jaxcluster profile\nif p == 0: v = float(w(x))"
    ended = interrupted(notebook, hangs, seen)
    said = ended.printed
    assert ended.frames == ()
    assert re.search(r"process 0: waiting in JAX at In \[\d+\]:2 `if p == 0: v", said)
    assert "process 1: idle" in said
    assert busy == [0]
    assert "A collective was interrupted" in px(notebook, "print(1 + 1)")
    assert "A collective was interrupted" in notebook.run("%jaxcluster guard on").message
    # The first process has the coordinator, without which JAX ends the others.
    os.kill(int(facts["process id"][0]), signal.SIGKILL)
    end = time.monotonic() + 20
    while "died: %jaxcluster restart" not in (text := px(notebook, "print(1 + 1)")):
        assert time.monotonic() < end, text
        time.sleep(0.1)
    notebook.must("%jaxcluster restart")
    joining = threading.Event()
    reach = cluster.Cluster._refuse_unreachable  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setattr(
        cluster.Cluster, "_refuse_unreachable", lambda one: (reach(one), joining.set())
    )
    started = "%jaxcluster init --devices-per-process 2"
    assert isinstance(interrupted(notebook, started, joining.is_set).error, KeyboardInterrupt)
    notebook.must("%jaxcluster restart")
    monkeypatch.setattr(cluster, "GATHERED_FROM", 2)
    again = notebook.must(f"{started} -o again")
    assert "Pre-flight · 2 processes · all equal" in again.text
    assert notebook.names["again"].setups == ()
    assert "64.0" in px(
        notebook, f"{SETUP.format(life_s=LIFE_S)}\nprint(float(jax.jit(lambda x: x.sum())(x)))"
    )


def test_an_address_without_a_scheduler_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr(dask_engines, "_CONNECT_S", 0.3)
    with pytest.raises(ClusterError, match=r"No Dask scheduler answered at 127\.0\.0\.1:1"):
        attach("127.0.0.1:1")


def test_a_profile_without_a_cluster_is_refused_at_once() -> None:
    pytest.importorskip("ipyparallel")
    began = time.monotonic()
    with pytest.raises(ClusterError, match="No ipyparallel cluster is running for the profile"):
        attach(profile="no-such-profile")
    assert time.monotonic() < began + 5


def test_attach_takes_a_client_only() -> None:
    pytest.importorskip("ipyparallel")
    with pytest.raises(ClusterError, match=r"takes an ipyparallel\.Client, a distributed.* not 3"):
        attach(3)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("", "takes attach, init"),
        ("profile", "takes a call"),
        ("run", "takes a call"),
        ("guard", "takes off, warn or on"),
        ("init --guard maybe", "--guard takes off, warn or on, but got"),
        ("guard maybe", "The guard is off, warn or on, not 'maybe'"),
        ("attach nothing", "There is no variable `nothing`"),
        ("init --devices-per-process 0", "a number of devices, 1 or more"),
    ],
)
def test_a_wrong_line_is_one_sentence(notebook: Notebook, client, line: str, words: str) -> None:
    assert words in notebook.run(f"%jaxcluster {line}").message
