"""The next question about a report: offered where it has an answer, as code that gives it."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from jaxscope.bench.variants import rounds
from jaxscope.magics.session.next_steps import (
    _shape,  # pyright: ignore[reportPrivateUsage]
    finding_steps,
    next_steps,
    recompilation_steps,
)
from jaxscope.magics.session.session import REPORTS_KEPT
from jaxscope.model.comparison import Ratio, RatioVerdict
from jaxscope.model.variants import TrialVerdict, VariantTrial
from tests.magics.notebook import Notebook, open_notebook

pytestmark = pytest.mark.jax

NAME = "jaxscope_magics"
LOSS = "%%jaxjit -n 0\ndef loss(x):\n    return jnp.tanh(x).sum()\nloss(x)"
BLOCK = "%%jaxjit -n 0\ny = jnp.sin(x)\ny.sum()"


@pytest.fixture
def notebook() -> Iterator[Notebook]:
    with open_notebook() as opened:
        opened.must(
            "import jax, jax.numpy as jnp, jaxscope\nx = jnp.ones(8)\nenergy = lambda x: x @ x"
        )
        yield opened


@pytest.fixture
def short_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any call counts as too short for a profile, also on a machine that is busy."""
    monkeypatch.setattr("jaxscope.magics.session.next_steps.SHORTEST_S", 60.0)


@pytest.fixture
def faster(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every trial is twice as fast, whatever the machine does."""
    ratio = Ratio(0.5, 0.45, 0.55, RatioVerdict.FASTER)
    monkeypatch.setattr(rounds, "ratio", lambda *_: ratio)


def code(notebook: Notebook) -> list[str]:
    """The code of the steps of the last report."""
    session = getattr(notebook.shell, NAME).session
    return [step["code"] for step in next_steps(session.reports[-1], session)]


def test_a_cell_that_only_hands_its_function_on_can_be_compiled_whole(notebook: Notebook) -> None:
    cell = "%%jaxjit\ndef loss(x):\n    return jnp.tanh(x).sum()\nslopes = twice(loss)(x)"
    notebook.must("twice = lambda f: lambda x: f(x) + f(2 * x)")
    ran = notebook.must(cell)
    assert "Only other functions get or call `loss` here" in ran.text
    assert code(notebook) == [cell.replace("%%jaxjit", "%%jaxjit --block")]
    notebook.must(code(notebook)[0])
    assert getattr(notebook.shell, NAME).session.reports[-1].programs
    # Nothing runs here, so there is nothing to compile.
    for kept in ("", "losses = {'tanh': loss}", "twice.loss = loss"):
        ran = notebook.must(f"%%jaxjit\ndef loss(x):\n    return jnp.tanh(x).sum()\n{kept}")
        assert "This cell calls no function that it defines" in ran.text
        assert not any("--block" in one for one in code(notebook))


@pytest.mark.parametrize(
    ("cell", "offered"),
    [
        (LOSS, "%jaxprof loss(x)"),
        ("%jaxjit -n 0 -o r energy(x)", "%jaxprof energy(x)"),
        # A profile has to run; options of the program stay.
        (BLOCK, BLOCK.replace("jaxjit -n 0", "jaxjit --profile")),
        ("%jaxgrad -n 0 -w x energy(x)", "%jaxgrad --profile -w x energy(x)"),
        ("%jaxgrad --runs=0 -w x energy(x)", "%jaxgrad --profile -w x energy(x)"),
        (
            f"{LOSS.replace('-n 0', '-t scale -n 0')}\nscale = 2.0",
            f"{LOSS.replace('-n 0', '--profile -t scale')}\nscale = 2.0",
        ),
    ],
)
def test_a_report_without_times_by_line_offers_them(
    notebook: Notebook, cell: str, offered: str
) -> None:
    ran = notebook.must(cell)
    assert code(notebook) == [offered]
    assert ran.text.endswith(f"next: {offered.partition(chr(10))[0]}")
    notebook.must(offered)


@pytest.mark.usefixtures("short_calls")
def test_no_profile_is_offered_where_it_would_say_nothing(notebook: Notebook) -> None:
    notebook.must(LOSS.replace(" -n 0", " -n 5"))  # too short a call
    assert code(notebook) == []
    notebook.must("%%jaxjit --profile -n 0\ny = jnp.sin(x)\ny.sum()")
    assert code(notebook) == []
    for function in ("energy", "jax.jit(energy)"):  # of shapes: it cannot run
        notebook.must(f"%jaxjit {function}(jax.ShapeDtypeStruct((8,), jnp.float32))")
        assert code(notebook) == []


@pytest.mark.usefixtures("short_calls")
def test_two_runs_that_differ_offer_their_difference(notebook: Notebook) -> None:
    short = BLOCK.replace("-n 0", "-n 5")
    notebook.must(short)
    notebook.must(short.replace("jaxjit", "jaxjit -o r"))
    assert code(notebook) == []
    notebook.must("x = jnp.ones(16)")
    ran = notebook.must(short)
    (diff,) = code(notebook)
    assert ran.text.endswith(f"next: {diff}")
    notebook.must("z = 1")
    assert "7 FLOP → 15 FLOP" in notebook.must(diff).text
    assert "There is no report of In [99]" in str(notebook.run("%jaxdiff 99").error)


def test_other_arrays_alive_after_a_profiled_cell_are_no_change_of_it(notebook: Notebook) -> None:
    cell = "%%jaxprof\n# once\nf = jax.jit(lambda v: jnp.sin(v).sum())\nf(x)"
    notebook.must(cell)
    notebook.must("kept = jnp.ones(3_000_000)")  # more than what other tests keep
    notebook.must(cell)
    reports = getattr(notebook.shell, NAME).session.reports
    cells = [{one.text[:15] for one in reports[i].record.sources} for i in (0, 1)]
    assert ["kept = jnp.ones" in one for one in cells] == [False, True]
    shapes = [_shape(report.record) for report in (reports[0], reports[1])]
    assert shapes[0] == shapes[1]
    assert not any(one.startswith("%jaxdiff") for one in code(notebook))
    notebook.must(cell.replace("sin", "cos"))
    assert any(one.startswith("%jaxdiff") for one in code(notebook))


@pytest.mark.usefixtures("faster")
def test_a_finding_with_a_fix_offers_to_try_it(notebook: Notebook) -> None:
    notebook.must("table = jnp.ones((200, 200))\nv = jnp.ones(200)")
    notebook.must("%%jaxjit -n 0\ndef f(v):\n    return table @ v\nf(v)")
    steps = code(notebook)
    assert re.fullmatch(r"%jaxtry --of \d+", steps[0])
    notebook.must("%%jaxjit -n 0\ny = jnp.sin(v)")
    assert "1 fix tried" in notebook.must(f"{steps[0]} --time-limit 100").text
    assert "In [99] has no report" in str(notebook.run("%jaxtry --of 99").error)


def test_each_finding_with_a_fix_has_a_button_of_its_own(notebook: Notebook) -> None:
    notebook.must("table = jnp.ones((200, 200))\nv = jnp.ones(200)")
    notebook.must("%%jaxjit -n 0 -o r\ndef f(v):\n    return table @ v\nf(v)")
    session = getattr(notebook.shell, NAME).session
    steps = finding_steps(notebook.names["r"], session)
    kinds = [str(one.kind) for one in notebook.names["r"].findings]
    number = kinds.index("captured_constant") + 1
    assert [(one["code"], one.get("finding")) for one in steps] == [
        (f"%jaxtry --of {notebook.shell.execution_count - 1} {number}", number)
    ]


@pytest.mark.usefixtures("faster")
def test_a_fix_that_was_tried_says_what_it_brought(notebook: Notebook) -> None:
    notebook.must("table = jnp.ones((200, 200))\nv = jnp.ones(200)")
    notebook.must("%%jaxjit -n 0 -o r\ndef f(v):\n    return table @ v\nf(v)")
    session = getattr(notebook.shell, NAME).session
    (before,) = finding_steps(notebook.names["r"], session)
    assert "outcome" not in before
    notebook.must(before["code"].replace("--of", "-o trials --time-limit 100 --of"))
    (trial,) = notebook.names["trials"]
    (after,) = finding_steps(notebook.names["r"], session)
    assert trial.verdict is TrialVerdict.BETTER
    assert after.get("outcome", "").startswith("Better: ")
    assert after.get("gain") is True


STATIC = """import functools
@functools.partial(jax.jit, static_argnames="k")
def scaled(x, k):
    return x * k
for k in range(4):
    scaled(x, k)"""


@pytest.mark.usefixtures("faster")
def test_a_recompilation_with_a_fix_has_a_button_beside_its_compilations(
    notebook: Notebook,
) -> None:
    notebook.must(STATIC)
    session = getattr(notebook.shell, NAME).session
    cell = notebook.shell.execution_count - 1
    whole, fix = recompilation_steps(cell, session)
    assert whole["code"] == f"%jaxtry --of {cell}"
    assert fix["code"] == f"%jaxtry --of {cell} 1"
    compiles = [one for one in session.log().compiles if one.fun_name == "scaled"]
    assert fix.get("serials") == [one.serial for one in compiles]
    assert len(compiles) == 4
    notebook.must(fix["code"].replace("--of", "-o trials --time-limit 100 --of"))
    (trial,) = notebook.names["trials"]
    _, fix = recompilation_steps(cell, session)
    assert fix.get("outcome", "").startswith(f"{str(trial.verdict).capitalize()}: ")
    assert "4 → 1 compilation" in fix.get("outcome", "")


@pytest.mark.parametrize("cell", ["z = 1", "jax.jit(lambda x: x + 3)(x)"])
def test_a_cell_that_recompiled_nothing_offers_nothing(notebook: Notebook, cell: str) -> None:
    notebook.must(cell)
    session = getattr(notebook.shell, NAME).session
    assert recompilation_steps(notebook.shell.execution_count - 1, session) == []
    assert recompilation_steps(99, session) == []


def test_trials_are_kept_of_as_many_cells_as_reports(notebook: Notebook) -> None:
    session = getattr(notebook.shell, NAME).session
    trial = VariantTrial("a change", TrialVerdict.SAME, number=1)
    for cell in range(REPORTS_KEPT + 3):
        session.note_trials(cell, [trial])
    assert len(session.trials) == REPORTS_KEPT
    assert REPORTS_KEPT + 2 in session.trials


def test_a_quiet_report_says_no_more(notebook: Notebook) -> None:
    assert "next" not in notebook.must(BLOCK.replace("-n 0", "-q -n 0")).text


def test_a_fix_in_an_earlier_cell_is_offered(notebook: Notebook) -> None:
    loop = "    for i in range(20):\n        v = jnp.sin(v @ t) + jnp.cos(v)"
    notebook.must("v, t = jnp.ones(8), jnp.eye(8)")
    notebook.must(f"def deep(v, t):\n{loop}\n    return v.sum()")
    notebook.must("%%jaxjit -n 0\nz = deep(v, t)")
    assert code(notebook)[0] == "%jaxtry --of 5"
    notebook.must("%jaxjit -n 0 deep(v, t)")
    assert [one for one in code(notebook) if "jaxtry" in one]
