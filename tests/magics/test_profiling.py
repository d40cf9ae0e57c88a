"""`%%jaxprof` in a real shell: what people type, and what goes wrong."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from IPython.core.interactiveshell import InteractiveShell

import jaxscope
from jaxscope.analysis.profile import attribute
from jaxscope.model import FindingKind, Form, Unavailable
from jaxscope.model.profile import CellProfile, Profile
from jaxscope.results.report_plots import figure_kinds
from jaxscope.view.bundle.figures import hottest_source

SETUP = """
import jax, jax.numpy as jnp
w = jax.random.normal(jax.random.key(0), (300, 300)) * 0.05
x = jax.random.normal(jax.random.key(1), (300, 300))
jax.block_until_ready((w, x))
"""

TRAINING = """%%jaxprof
@jax.jit
def step(w, x):
    h = jnp.tanh(x @ w)
    return w - 0.1 * (h @ w)

for _ in range(6):
    w = step(w, x)
s = jnp.sin(x) * 2 + 1
"""


@pytest.fixture
def shell() -> Any:
    made = InteractiveShell()
    made.run_cell("%load_ext jaxscope")
    made.run_cell("%config JaxScope.view = 'text'")
    assert made.run_cell(SETUP).success
    yield made
    made.run_cell("%unload_ext jaxscope")


def cell_profile(report: jaxscope.Report) -> CellProfile:
    assert report.record.profile is not None
    return report.record.profile


def test_a_cell_runs_once_and_its_lines_are_timed(shell: Any, capsys: Any) -> None:
    shell.run_cell("import numpy as np\nplain = w\n")
    assert shell.run_cell(TRAINING).success
    report = jaxscope.last()
    found = cell_profile(report)
    rows = {row.line: row for row in found.lines}
    assert report.record.form is Form.PROFILED
    assert rows[8].runs == 6
    assert rows[8].eager == 0
    assert rows[4].device_s > 0
    assert rows[4].device_s + rows[5].device_s > rows[8].device_s
    assert rows[9].eager == 3
    assert rows[9].host_s > 0
    assert found.covered_s <= found.wall_s
    total = sum(row.device_s for row in found.lines)
    assert total == pytest.approx(found.covered_s, rel=1e-6)
    expected = shell.user_ns["plain"]
    for _ in range(6):
        expected = shell.user_ns["step"](expected, shell.user_ns["x"])
    assert (shell.user_ns["w"] == expected).all()
    shown = capsys.readouterr().out
    assert "ran once in" in shown
    assert "6 runs" in shown


@pytest.mark.parametrize(
    ("last", "error", "said"),
    [
        ("w @ jnp.ones(7)", TypeError, "The cell raised an exception on line 9 (TypeError): "),
        ("raise KeyboardInterrupt", KeyboardInterrupt, "The cell was interrupted on line 9: "),
    ],
)
def test_what_ran_before_an_error_is_kept(
    shell: Any, capsys: Any, last: str, error: type[BaseException], said: str
) -> None:
    before = TRAINING.replace("s = jnp.sin(x) * 2 + 1", last)
    result = shell.run_cell(before + "never = 1\n")
    assert isinstance(result.error_in_exec, error)
    assert "never" not in shell.user_ns
    report = jaxscope.last()
    rows = {row.line: row for row in cell_profile(report).lines}
    assert rows[8].runs == 6
    assert rows[4].device_s > 0
    assert report.record.notes[0] == f"{said}this is the run until then."
    shown = capsys.readouterr().out
    assert "this is the run until then" in " ".join(shown.replace("\\n", " ").split())
    assert "profiled.py" not in shown
    assert shell.run_cell(TRAINING).success  # the profiler's session is closed


def test_after_an_error_no_more_calls_are_made(shell: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    monkeypatch.setattr("jaxscope.capture.profile.barriers.of_calls", lambda *a: asked.append(a))
    failing = (
        TRAINING.replace("%%jaxprof", "%%jaxprof --isolate-lines") + "raise KeyboardInterrupt\n"
    )
    assert isinstance(shell.run_cell(failing).error_in_exec, KeyboardInterrupt)
    assert asked == []
    assert jaxscope.last().record.notes[1].startswith("Lines were not isolated")


def test_a_fault_of_ours_hides_no_error_of_the_cell(
    shell: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*args: Any, **kwargs: Any) -> Any:
        raise LookupError("ours")

    monkeypatch.setattr("jaxscope.capture.run.profiled_cell.minimal", broken)
    result = shell.run_cell("%%jaxprof\nraise OSError('of the cell')\n")
    assert isinstance(result.error_in_exec, OSError)


def test_single_operations_are_a_finding_with_line_and_cure(shell: Any) -> None:
    shell.run_cell(TRAINING)
    (finding,) = jaxscope.last().findings
    assert (finding.kind, finding.line) == (FindingKind.EAGER, 9)
    assert finding.message.startswith("This line ran 3 eager operations and took ")
    assert finding.message.endswith("s on the device.")
    assert finding.evidence.endswith(" of it compiling.")
    assert "jax.jit" in finding.fix


def test_a_line_that_calls_a_compiled_function_too_has_no_time_of_its_operations(
    shell: Any,
) -> None:
    shell.run_cell(TRAINING.replace("s = jnp.sin(x) * 2 + 1", "s = step(jnp.sin(w) * 2 + 1, x)"))
    (finding,) = jaxscope.last().findings
    assert finding.message == (
        "This line ran 3 eager operations beside 1 run of compiled functions."
    )
    assert finding.fix.startswith("Move only the eager operations into a function under `jax.jit`")


def test_control_flow_outside_of_a_jit_is_an_eager_operation(shell: Any) -> None:
    shell.run_cell(
        "%%jaxprof\n"
        "y = jax.lax.while_loop(lambda c: c < 3, lambda c: c + 1.0, 0.0) + jnp.ones(2)\n"
        "y = y.at[0].add(1.0)\n"
        "z = jax.pure_callback(lambda v: v, jax.ShapeDtypeStruct((), jnp.float32), y[0])\n"
    )
    report = jaxscope.last()
    assert all("beside" not in finding.message for finding in report.findings)
    found = report.record.profile
    assert found.eager == found.runs > 5


def test_a_line_that_changes_an_nnx_object_needs_a_jit_that_returns_the_change(shell: Any) -> None:
    nnx = pytest.importorskip("flax.nnx")
    shell.user_ns["count"] = nnx.Param(jax.numpy.zeros(3))
    shell.run_cell("%%jaxprof\ncount[...] = jnp.sin(count[...]) * 2 + 1\n")
    (finding,) = jaxscope.last().findings
    assert "Move it into a function under `nnx.jit`" in finding.fix


def test_a_line_that_reads_a_module_of_equinox_needs_its_jit(shell: Any) -> None:
    eqx = pytest.importorskip("equinox")
    shell.user_ns |= {"eqx": eqx, "net": eqx.nn.MLP(2, 2, 4, 1, key=jax.random.key(0))}
    shell.run_cell("%%jaxprof\ny = net(jnp.ones(2)) * 2 + 1\n")
    (finding,) = jaxscope.last().findings
    assert "Move it into a function under `eqx.filter_jit`" in finding.fix


@pytest.mark.parametrize("given", ["lambda v: float(cost(v))", "cost"])
def test_a_function_that_a_package_calls_is_to_be_compiled(shell: Any, given: str) -> None:
    pytest.importorskip("scipy")
    shell.run_cell(
        "import numpy as np\nfrom scipy import optimize\n"
        "def cost(v):\n    return jnp.sum(jnp.sin(v) ** 2 - 1)"
    )
    shell.run_cell(f"%%jaxprof\nbest = optimize.minimize({given}, np.ones(2)).x\n")
    assert jaxscope.last().findings[0].fix == "Compile `cost`, which `scipy` calls, with `jax.jit`."


def test_of_a_cell_only_the_figures_that_hold_something_are_offered(shell: Any) -> None:
    pytest.importorskip("plotly", reason="the extra `plots` is not installed")
    shell.run_cell(TRAINING)
    report = jaxscope.last()
    assert len(report.plot("timeline").data) > 0
    with pytest.raises(LookupError, match="the call stacks of this program are unknown"):
        report.plot()
    assert figure_kinds(report.programs, traced=True) == {"profile": ("timeline",)}


def test_a_cell_that_ran_eagerly_has_its_timeline(shell: Any) -> None:
    pytest.importorskip("plotly", reason="the extra `plots` is not installed")
    shell.run_cell("%%jaxprof\nordered = jnp.sort(jnp.ones(1000))\n")
    report = jaxscope.last()
    assert not report.programs
    assert len(report.plot("timeline").data) > 0
    with pytest.raises(LookupError, match=r"plot\(\"timeline\"\)` draws the threads"):
        report.plot()


NAMED_LIKE_OPERATIONS = """%%jaxprof
double = jax.jit(lambda v: jnp.sin(v) * 2)
@jax.jit
def _step(v):
    return jnp.cos(v) * 2
@jax.jit
def norm(v):
    return (v * v).sum()
length = norm
del norm
for _ in range(3): a = double(x)
for _ in range(3): b = _step(x)
for _ in range(3): c = length(x)
for _ in range(3): d = jnp.where(x > 0, x, 0.0)
"""


def test_a_cell_without_a_program_of_its_own_can_be_saved(shell: Any, tmp_path: Path) -> None:
    shell.run_cell("%%jaxprof -q -o rep\ns = x * 2").raise_error()
    report = shell.user_ns["rep"]
    assert not report.programs
    report.save(tmp_path / "report.json.gz")
    assert jaxscope.load(tmp_path / "report.json.gz").summary() == report.summary()
    assert report.to_html(tmp_path / "report.html").exists()


def test_jitted_functions_are_no_single_operations_whatever_their_name(shell: Any) -> None:
    assert shell.run_cell(NAMED_LIKE_OPERATIONS).success
    report = jaxscope.last()
    found = {row.line: (row.runs, row.eager) for row in cell_profile(report).lines if row.runs}
    assert found == {11: (3, 0), 12: (3, 0), 13: (3, 0), 14: (6, 6)}
    assert [finding.line for finding in report.findings] == [14]


def test_functions_of_one_name_are_one_line(shell: Any, capsys: Any) -> None:
    cell = "%%jaxprof\nfs = [jax.jit(lambda v, i=i: jnp.sin(v) * i) for i in range(4)]\n"
    assert shell.run_cell(cell + "o = [f(x) for f in fs]\n").success
    shown = capsys.readouterr().out
    assert "Also compiled: jit(<lambda>) × 3" in shown
    assert shown.count("Also compiled") == 1


def test_a_cell_of_single_operations_does_not_say_that_nothing_was_compiled(
    shell: Any, capsys: Any
) -> None:
    assert shell.run_cell("%%jaxprof\ny = jnp.sinc(x[0])\n").success
    shown = capsys.readouterr().out
    assert "Nothing was compiled" not in shown
    assert "The cell ran eagerly" in shown
    assert "stages" not in shown


def test_arrays_that_are_alive_have_their_lines(shell: Any) -> None:
    shell.run_cell("%%jaxprof\nkept = [jnp.sin(x) * i for i in range(3)]\n")
    rows = {row.line: row for row in cell_profile(jaxscope.last()).live if row.source == 0}
    assert rows[2].count == 3
    assert rows[2].bytes >= 3 * 300 * 300 * 4
    assert "Arrays alive after the cell" in jaxscope.last().to_text(full=True)


def test_a_report_has_no_source_of_live_arrays_that_it_does_not_show(
    shell: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jaxscope.capture.run.profiled_cell._MOST_LIVE", 2)
    for i in range(3):
        shell.run_cell(f"kept_{i} = jnp.ones({1_000_000 * (i + 2)})")
    shell.run_cell("%%jaxprof\nz = jnp.sinc(x[0])\n")
    report = jaxscope.last()
    shown = {row.source for row in cell_profile(report).live} - {None}
    assert len(shown) == 2
    assert {0, *shown} == {*range(len(report.record.sources))}


def test_what_compiling_did_is_shown(shell: Any) -> None:
    shell.run_cell(TRAINING)
    report = jaxscope.last()
    stages = {phase.path[0]: phase.seconds for phase in cell_profile(report).phases}
    assert stages["XLA"] > 0
    assert "Compilation by phase" in report.to_text(full=True)


def test_a_jitted_function_of_the_cell_has_a_profile_of_its_own(shell: Any) -> None:
    shell.run_cell(TRAINING)
    (program,) = jaxscope.last().programs
    assert program.name == "step"
    assert isinstance(program.profile, Profile)
    lines = {row.place.line for row in program.profile.lines}
    assert {4, 5} <= lines


def test_one_call_is_profiled_and_gives_its_value(shell: Any) -> None:
    shell.run_cell("f = jax.jit(lambda x, w: jnp.tanh(x @ w) @ w)")
    result = shell.run_cell("%jaxprof -o report f(x, w)")
    assert result.success
    assert result.result.shape == (300, 300)
    found = shell.user_ns["report"].profile
    assert isinstance(found, Profile)
    assert found.ops


def test_a_call_that_another_line_magic_compiled_is_not_compiled_again(shell: Any) -> None:
    shell.run_cell("def slow(x): return jnp.sin(x).sum()\n%jaxjit slow(x)")
    shell.run_cell("%jaxprof -o report slow(x)")
    assert [program.compiles for program in shell.user_ns["report"].programs] == [()]


def test_every_transform_takes_the_option(shell: Any) -> None:
    result = shell.run_cell("%%jaxgrad --profile -w w\n(jnp.tanh(x @ w) ** 2).mean()\n")
    assert result.success
    found = jaxscope.last().profile
    assert isinstance(found, Profile)
    assert {row.place.line for row in found.lines} == {2}


def test_lines_are_isolated_in_a_transform_too(shell: Any, capsys: Any) -> None:
    cell = "%%jaxjit --isolate-lines -o report\na = jnp.sin(x) * 2\nb = jnp.exp(a) + a\n"
    assert shell.run_cell(cell).success
    report = shell.user_ns["report"]
    assert isinstance(report.profile, Profile)
    assert report.programs[0].isolated is not None


APART = """%%jaxprof --isolate-lines
for _ in range(2):
    w = layer(w, x, 2)
done = [layer(w, x, 2) for _ in range(1)][0]
"""
LAYER = """
import functools
@functools.partial(jax.jit, donate_argnums=0, static_argnums=2)
def layer(w, x, n):
    h = jnp.tanh(x @ w)
    for _ in range(n):
        h = jnp.sin(h) * 2
    return w - 1e-3 * (h @ w)
"""


def test_a_cell_isolates_the_lines_of_the_functions_that_it_calls(shell: Any, capsys: Any) -> None:
    assert shell.run_cell(LAYER).success
    assert shell.run_cell("w = layer(w, x, 2)").success
    before = set(shell.user_ns)
    assert shell.run_cell(APART).success
    assert set(shell.user_ns) - before <= {"done", "_"} | {n for n in shell.user_ns if n[0] == "_"}
    assert not [name for name in shell.user_ns if "jaxscope" in name and name[0] == "_"]
    report = jaxscope.last()
    (program,) = report.programs
    found = program.isolated
    assert isinstance(found, Profile), found
    assert found.fused_s is not None
    assert found.fused_s > 0
    assert cell_profile(report).eager == 0
    assert cell_profile(report).runs == 3
    words = capsys.readouterr().out
    if not found.unreliable:  # a fast machine makes the call too short
        assert "if lines were not fused" in words
        assert "saved by fusion" in words


def test_a_function_of_another_cell_has_its_own_lines_and_not_its_callers(shell: Any) -> None:
    assert shell.run_cell(LAYER, store_history=True).success
    for again in range(2):  # the frames are those of the first call
        cell = f"%%jaxprof\nn = {again}\nz = layer(w + 0, x, 2)\n"
        assert shell.run_cell(cell, store_history=True).success
        record = jaxscope.last().record
        (program,) = record.programs
        assert isinstance(program.profile, Profile)
        texts = {record.sources[row.place.source].text for row in program.profile.lines}
        assert len(texts) == 1
        assert "def layer" in texts.pop()
        # The viewer opens there, not on the call.
        opened = hottest_source(program, len(record.sources), record.profile)
        assert "def layer" in record.sources[opened].text


@pytest.mark.parametrize("depth", [0, 12], ids=["near", "far"])
def test_compiling_in_a_function_of_another_cell_is_time_of_the_line_that_calls_it(
    shell: Any, depth: int
) -> None:
    """A compilation keeps the innermost frames only: those of the cell may be missing."""
    other = (
        "def other(v, depth):\n"
        "    return other(v, depth - 1) if depth else jax.jit(lambda u: u * 3 - 1)(v)\n"
    )
    assert shell.run_cell(other, store_history=True).success
    cell = f"%%jaxprof\nn = {depth}\nz = other(x, n)\n"
    assert shell.run_cell(cell, store_history=True).success
    report = jaxscope.last()
    (compile,) = report.record.compiles
    assert compile.site.source != 0
    assert compile.site.span.line == 2
    seconds = {row.line: row.compile_s for row in cell_profile(report).lines}
    assert seconds[2] == 0.0
    assert seconds[3] == compile.total_s
    assert cell_profile(report).compile_s == compile.total_s


def test_compiling_on_threads_is_time_of_the_line_that_waits_for_them(shell: Any) -> None:
    cell = (
        "%%jaxprof\nfrom concurrent.futures import ThreadPoolExecutor\n"
        "with ThreadPoolExecutor(2) as pool:\n"
        "    done = list(pool.map(lambda n: jax.jit(lambda u: jnp.sin(u) * n)(x), (3, 5)))\n"
    )
    assert shell.run_cell(cell, store_history=True).success
    report = jaxscope.last()
    seconds = [one.total_s for one in report.record.compiles]
    assert len(seconds) == 2
    (line,) = [row for row in cell_profile(report).lines if row.compile_s]
    assert line.line == 4
    assert max(seconds) - 1e-5 < line.compile_s < sum(seconds) + 1e-5


def test_compiling_on_threads_of_no_line_is_time_of_the_cell(shell: Any) -> None:
    setup = (
        "from concurrent.futures import ThreadPoolExecutor\nf = jax.jit(lambda u: jnp.sin(u) * 7)"
    )
    assert shell.run_cell(setup, store_history=True).success
    cell = "%%jaxprof\nwith ThreadPoolExecutor(1) as pool:\n    done = list(pool.map(f, [x]))\n"
    assert shell.run_cell(cell, store_history=True).success
    (compile,) = jaxscope.last().record.compiles
    found = cell_profile(jaxscope.last())
    assert found.compile_s == pytest.approx(compile.total_s, abs=1e-5)
    assert not any(row.compile_s for row in found.lines)


def test_waiting_for_work_is_no_time_of_the_last_line(shell: Any) -> None:
    shell.run_cell("big = jnp.ones((1500, 1500))\nf = jax.jit(lambda a: a @ a @ a @ a)\nf(big)")
    assert shell.run_cell("%%jaxprof\nz = f(big)\n").success
    found = cell_profile(jaxscope.last())
    assert found.waited_s > 0
    assert sum(row.host_s for row in found.lines) + found.waited_s < 1.05 * found.wall_s
    assert "after the last line" in " ".join(jaxscope.last().to_text().split())


def test_isolating_lines_that_fails_leaves_the_cells_profile(shell: Any, monkeypatch: Any) -> None:
    def gone(*args: Any) -> Any:
        raise AttributeError("no such name")

    monkeypatch.setattr("jaxscope.capture.profile.barriers._jax.traced_arguments", gone)
    assert shell.run_cell(LAYER).success
    assert shell.run_cell(APART).success
    (program,) = jaxscope.last().programs
    assert isinstance(program.isolated, Unavailable)
    assert "no such name" in program.isolated.reason
    assert isinstance(program.profile, Profile)
    assert cell_profile(jaxscope.last()).runs == 3


def test_calls_that_cannot_be_isolated_are_named(shell: Any) -> None:
    assert shell.run_cell(LAYER).success
    cell = "%%jaxprof --isolate-lines\ndef train(w):\n    return layer(w + 0, x, 2)\nz = train(w)\n"
    assert shell.run_cell(cell).success
    assert "Lines of layer were not isolated: the call is inside a function." in " ".join(
        cell_profile(jaxscope.last()).warnings
    )
    assert shell.run_cell("train(w)").success  # the function is as it was written


def test_a_call_that_cannot_be_isolated_has_the_name_that_people_call(shell: Any) -> None:
    shell.run_cell("def loss(w): return (w @ w).sum()\nstep = jax.jit(jax.grad(loss))")
    cell = "%%jaxprof --isolate-lines\ndef train(w):\n    return step(w)\nz = train(w)\n"
    assert shell.run_cell(cell).success
    doubts = " ".join(cell_profile(jaxscope.last()).warnings)
    assert "Lines of loss were not isolated: the call is inside a function." in doubts
    assert "--isolate-lines step(...)" in doubts


def test_a_cell_with_nothing_to_isolate_says_so(shell: Any) -> None:
    assert shell.run_cell("%%jaxprof --isolate-lines\nn = len('ab')\ny = jnp.sin(x)\n").success
    assert "No lines were isolated: the cell calls no compiled function." in " ".join(
        cell_profile(jaxscope.last()).warnings
    )


def test_a_program_with_effects_is_not_run_to_isolate_its_lines(shell: Any) -> None:
    shell.run_cell("""
ran = []
@jax.jit
def noisy(x):
    jax.debug.callback(lambda: ran.append(1))
    y = jnp.sin(x)
    return y @ x
""")
    assert shell.run_cell("%%jaxprof --isolate-lines\ny = noisy(x)\n").success
    assert len(shell.user_ns["ran"]) == 1
    (program,) = jaxscope.last().programs
    assert program.isolated == Unavailable("a program with effects is not run again")


def test_a_trace_of_millions_of_events_is_not_read_unasked(
    shell: Any, capsys: Any, monkeypatch: Any
) -> None:
    monkeypatch.setattr("jaxscope.capture.options.profile_plan._EVENT_BYTES", 1e-6)
    assert shell.run_cell("%%jaxprof\ny = jnp.sin(x)\n").success
    told = capsys.readouterr().out
    assert "There is no profile: the trace has about" in told
    assert "--all-events" in told
    assert "nothing was compiled" not in told
    assert "y" in shell.user_ns
    assert shell.run_cell("%%jaxprof --all-events\ny = jnp.sin(x)\n").success
    assert cell_profile(jaxscope.last()).wall_s > 0


def test_waiting_for_another_session_lets_the_profile_be_made(shell: Any, tmp_path: Any) -> None:
    jax.profiler.start_trace(tmp_path)
    other = threading.Timer(0.3, jax.profiler.stop_trace)
    other.start()
    try:
        assert shell.run_cell("%%jaxprof --wait 60\ny = jnp.sin(x)\n").success
    finally:
        other.join()
    assert cell_profile(jaxscope.last()).wall_s > 0


def test_a_lambda_of_the_call_is_its_source(
    shell: Any, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Other processes can make the profiled calls too slow for times by line.
    monkeypatch.setattr(attribute, "unreliable", lambda profile: "")
    result = shell.run_cell("%jaxprof (lambda a: jnp.tanh(a @ w) @ w)(x)")
    assert result.success
    assert "could not" not in capsys.readouterr().out
    (source,) = jaxscope.last().record.sources
    assert source.text == "(lambda a: jnp.tanh(a @ w) @ w)(x)"
    assert "the call: time of each line" in jaxscope.last().to_text()


def test_the_value_of_the_cell_is_its_out(shell: Any) -> None:
    assert shell.run_cell("%%jaxprof\n40 + 2\n").result == 42
    assert shell.run_cell("%%jaxprof\n40 + 2;\n").result is None


def test_a_cell_without_jax_says_so(shell: Any) -> None:
    shell.run_cell("%%jaxprof\nn = 3\n")
    found = cell_profile(jaxscope.last())
    assert found.runs == 0
    assert jaxscope.last().to_text().count("JAX ran no program in this cell.") == 1
    assert shell.user_ns["n"] == 3


def test_an_exception_is_the_users_and_the_session_is_closed(shell: Any) -> None:
    result = shell.run_cell("%%jaxprof\nm = 1\nraise KeyError('mine')\n")
    assert isinstance(result.error_in_exec, KeyError)
    assert shell.user_ns["m"] == 1
    assert shell.run_cell("%%jaxprof\nm = 2\n").success
    assert cell_profile(jaxscope.last()).wall_s > 0


def test_another_profiler_session_is_said_and_the_cell_runs(
    shell: Any, capsys: Any, tmp_path: Any
) -> None:
    jax.profiler.start_trace(tmp_path)
    try:
        assert shell.run_cell("%%jaxprof\ny = jnp.sin(x)\n").success
    finally:
        jax.profiler.stop_trace()
    assert "y" in shell.user_ns
    assert "another profiler session is open" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ("%jaxprof", "%jaxprof needs a call, such as %jaxprof f(x, y)."),
        ("%jaxprof 3", "%jaxprof needs a call such as f(x, y); `3` is not a call."),
        ("%%jaxprof f(x)\ny = 1\n", "%%jaxprof takes only options, but got 'f(x)'."),
        ("%jaxprof -o 3 f(x)", "-o needs a name for the report, but got '3'."),
        ("%jaxprof --no-such f(x)", "There is no option --no-such."),
        ("%jaxprof --isolatelines f(x)", "Did you mean --isolate-lines?"),
        ("%jaxprof --view big f(x)", "--view takes auto, widget, html or text, but got 'big'."),
        ("%jaxprof -o", "--report needs a value."),
        ("%jaxprof --wait long f(x)", "--wait: 'long' is not a number of seconds,"),
        ("%%jaxprof --wait -1\ny = 1\n", "--wait: '-1' is not a number of seconds,"),
        ("%jaxprof f(", "`f(` is not a Python expression"),
        ("%jaxprof nowhere(x)", "name 'nowhere' is not defined"),
    ],
)
def test_what_cannot_be_taken_is_a_sentence(shell: Any, capsys: Any, cell: str, words: str) -> None:
    before = dict(shell.user_ns)
    result = shell.run_cell(cell)
    assert not result.success
    told = capsys.readouterr()
    assert words in str(result.error_in_exec) + told.out + told.err
    assert {k for k in shell.user_ns if not k.startswith("_")} == {
        k for k in before if not k.startswith("_")
    }
    assert shell.run_cell("1 + 1").result == 2


def test_a_call_of_a_function_whose_cell_compiled_it_compiles_nothing(shell: Any) -> None:
    reused = "reused the compiled program (0 compiles)"
    cell = "%%jaxjit -n 1\ndef scaled(a):\n    return jnp.tanh(a @ w) * k\nscaled(x)\n"
    shell.run_cell("k = jnp.float32(2.0)")
    assert shell.run_cell(cell).success
    assert reused not in jaxscope.last().summary()
    assert shell.run_cell("%jaxprof scaled(x)").success
    assert reused in jaxscope.last().summary()
    assert jaxscope.last().time_by_line
    # Another value of what it captures is another program.
    shell.run_cell("k = jnp.float32(3.0)")
    value = shell.run_cell("%jaxjit -n 1 scaled(x)").result
    assert reused not in jaxscope.last().summary()
    assert np.allclose(value, shell.run_cell("jnp.tanh(x @ w) * 3").result)
