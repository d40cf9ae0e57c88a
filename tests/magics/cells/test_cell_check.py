"""The check of the cells itself: what it must notice, and what it must let pass."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.magics.cells.cell_case import CELLS, Case, Expectation, Outcome, parse_case, read_cases
from tests.magics.cells.cell_check import FALLEN_BACK, check, mismatches
from tests.magics.cells.cell_shell import CellShell, open_shell, play

CASES = read_cases()
SAME = "# A case.\n\n# %% setup\nimport jax.numpy as jnp\nx = jnp.arange(3.0)\n\n# %% cell\n"
SETUP = """
import numpy as np
import jax
import jax.numpy as jnp
from flax import nnx
x = jnp.arange(3.0)
d = {"a": [x, 1], "b": x}
"""


@pytest.fixture(scope="module")
def plain_shell() -> Iterator[CellShell]:
    with open_shell() as shell:
        yield shell


@pytest.mark.parametrize("name", ["names/walrus", "containers/partly_shared", "output/tuple"])
def test_a_cell_equals_itself_in_plain_python(plain_shell: CellShell, name: str) -> None:
    case = next(c for c in CASES if c.name == name)
    assert not list(mismatches(play(plain_shell, case), play(plain_shell, case)))


PLANTED = {
    "value": ("y = x * 2", "y = x * 2.001"),
    "value in a container": ("y = {'k': [x, 1]}", "y = {'k': [x, 2]}"),
    "shape": ("y = x", "y = x[None]"),
    "dtype": ("y = x.astype('int32')", "y = x.astype('int16')"),
    "weak type": ("y = jnp.asarray(2.0)", "y = jnp.asarray(2.0, 'float32')"),
    "numpy dtype": ("y = np.ones(2, 'f4')", "y = np.ones(2, 'f8')"),
    "key kind": ("y = jax.random.key(0)", "y = jax.random.PRNGKey(0)"),
    "type": ("y = 1", "y = 1.0"),
    "bool for int": ("y = 1", "y = True"),
    "list for tuple": ("y = (1, 2)", "y = [1, 2]"),
    "array for numpy": ("y = np.ones(2, 'f4')", "y = jnp.ones(2)"),
    "array for float": ("y = 2.0", "y = jnp.asarray(2.0)"),
    "missing name": ("y = 1; z = 2", "y = 1"),
    "extra name": ("y = 1", "y = 1; temp = 2"),
    "deleted name": ("pass", "globals().pop('x', None)"),
    "order of keys": ("y = {'b': 1, 'a': 2}", "y = {'a': 2, 'b': 1}"),
    "sharing lost": ("y = z = [x]", "y = [x]; z = [x]"),
    "sharing made": ("y = [x]; z = [x]", "y = z = [x]"),
    "inner sharing lost": ("y = {**d}", "y = {**d, 'a': list(d['a'])}"),
    "input copied": ("y = d", "y = dict(d)"),
    "input replaced": ("pass", "d = dict(d)"),
    "numpy copied": ("y = np.ones(2); z = y", "y = np.ones(2); z = y.copy()"),
    "object copied": ("y = d['a']", "import copy; y = copy.copy(d['a']); del copy"),
    "closure": ("y = (lambda k: lambda v: v * k)(2)", "y = (lambda k: lambda v: v * k)(3)"),
    "default": ("y = lambda v, k=2: v", "y = lambda v, k=3: v"),
    "function": ("y = lambda v: jnp.sin(v)", "y = lambda v: jnp.cos(v)"),
    "module parameters": (
        "y = nnx.Linear(2, 2, rngs=nnx.Rngs(0))",
        "y = nnx.Linear(2, 2, rngs=nnx.Rngs(1))",
    ),
    "out": ("x * 2", "x * 3"),
    "out missing": ("x * 2", "x * 2;"),
    "printed text": ("print('a', 'b')", "print('a b ')"),
    "printed twice": ("print('a')", "print('a'); print('a')"),
    "order of prints": ("print('a'); print('b')", "print('b'); print('a')"),
    "jitted function": ("y = lambda v: v", "y = jax.jit(lambda v: v)"),
}


@pytest.mark.parametrize("sort", PLANTED)
def test_the_comparison_notices_a_planted_difference(plain_shell: CellShell, sort: str) -> None:
    sessions = [
        play(plain_shell, Case(name=f"planted {i}", about="", setup=SETUP, cell=cell))
        for i, cell in enumerate(PLANTED[sort])
    ]
    assert all(not step.error for session in sessions for step in session)
    assert list(mismatches(*sessions))


def naive_magic(shell: CellShell, transform: Any) -> None:
    """A cell magic `%%naive` that runs ``transform(namespace, cell)`` in place of a real one."""

    def naive(line: str, cell: str) -> Any:
        return transform(shell.user_ns, cell)

    shell.register_magic_function(naive, "cell", "naive")


def problems_of(shell: CellShell, text: str, transform: Any) -> list[str]:
    naive_magic(shell, transform)
    return check(shell, parse_case(text, "planted"), "%%naive")


def test_a_magic_that_runs_the_cell_as_it_is_passes(plain_shell: CellShell) -> None:
    text = SAME + "y = x * 2\nd = [y, y]\n"
    assert not problems_of(plain_shell, text, lambda ns, cell: exec(cell, ns))


def test_a_result_of_the_first_run_returned_again_is_noticed(plain_shell: CellShell) -> None:
    cache: dict[str, Any] = {}

    def stale(namespace: dict[str, Any], cell: str) -> None:
        if cell not in cache:
            exec(cell, namespace)
            cache[cell] = namespace["y"]
        namespace["y"] = cache[cell]

    text = SAME + "y = x * 2\n\n# %% change\nx = x + 1\n"
    assert any("run 2: y: value" in p for p in problems_of(plain_shell, text, stale))


def test_a_tracer_left_behind_is_noticed(plain_shell: CellShell) -> None:
    def leaking(namespace: dict[str, Any], cell: str) -> None:
        import jax

        jax.make_jaxpr(lambda: exec(cell, namespace))()

    found = problems_of(plain_shell, SAME + "y = [jnp.ones(2) + 1]\n", leaking)
    assert any("tracer was left behind" in p for p in found)


def test_a_fall_back_to_plain_python_is_noticed(plain_shell: CellShell) -> None:
    def giving_up(namespace: dict[str, Any], cell: str) -> None:
        from IPython.display import display

        exec(cell, namespace)
        display({"text/plain": f"{FALLEN_BACK} compile this cell."}, raw=True)

    found = problems_of(plain_shell, SAME + "y = x * 2\n", giving_up)
    assert any("fell back" in p for p in found)


def test_a_refusal_that_does_not_come_is_noticed(plain_shell: CellShell) -> None:
    text = SAME.replace("# A case.", '# A case.\n# expect: refused "in place"') + "y = x * 2\n"
    found = problems_of(plain_shell, text, lambda ns, cell: exec(cell, ns))
    assert any("no error" in p for p in found)


@pytest.mark.parametrize(
    "cell",
    [
        "x = 1",
        "box.append(1)",
        "del x",
        "new = 1",
        "box[0]['k'] = 2",
        "arr[0] = 9",
        "box = list(box)",
    ],
)
def test_a_refusal_that_writes_something_is_noticed(plain_shell: CellShell, cell: str) -> None:
    text = (
        '# A case.\n# expect: refused "stop"\n\n# %% setup\nimport numpy as np\n'
        "x = 0\nbox = [{'k': 1}]\narr = np.ones(2)\n\n# %% cell\n"
        f"{cell}\nraise ValueError('stop')\n"
    )
    found = problems_of(plain_shell, text, lambda ns, cell: exec(cell, ns))
    assert any("writes nothing" in p for p in found)


@pytest.mark.parametrize(
    ("header", "problem"),
    [
        ('# expect: refused "another text"', "does not match"),
        ('# expect: refused "stop"\n# line: 4', "does not name line 4"),
        ('# expect: raises KeyError "stop"', "instead of KeyError"),
        ("# expect: same", "unexpected error"),
    ],
)
def test_a_wrong_error_is_noticed(plain_shell: CellShell, header: str, problem: str) -> None:
    text = f"# A case.\n{header}\n\n# %% cell\nraise ValueError('stop at line 2')\n"

    def stop(namespace: dict[str, Any], cell: str) -> None:
        raise ValueError("stop at line 2")

    assert any(problem in p for p in problems_of(plain_shell, text, stop))


def test_the_number_of_compiles_is_counted(plain_shell: CellShell) -> None:
    def jitted_anew(namespace: dict[str, Any], cell: str) -> None:
        import jax

        x = namespace["x"]
        namespace["y"] = jax.jit(lambda v: v * 2)(x)

    header = "# A case.\n# compiles: {}"
    for counts, fails in (("1 1", False), ("1 0", True), ("0 0", True), ("2 2", True)):
        text = SAME.replace("# A case.", header.format(counts)) + "y = x * 2\n"
        found = problems_of(plain_shell, text, jitted_anew)
        assert bool(found) is fails, (counts, found)


def test_a_difference_that_is_declared_must_be_seen(plain_shell: CellShell) -> None:
    text = SAME.replace("# A case.", "# A case.\n# differs: y float-becomes-array") + "y = x * 2\n"
    found = problems_of(plain_shell, text, lambda ns, cell: exec(cell, ns))
    assert any("was not seen" in p for p in found)


def test_a_declared_difference_covers_only_its_own_sort(plain_shell: CellShell) -> None:
    def doubled(namespace: dict[str, Any], cell: str) -> None:
        import jax.numpy as jnp

        namespace["y"] = jnp.asarray(2.5)

    header = "# A case.\n# may differ: y float-becomes-array"
    right = SAME.replace("# A case.", header) + "y = 2.5\n"
    assert not problems_of(plain_shell, right, doubled)
    wrong = SAME.replace("# A case.", header) + "y = 2.0\n"
    assert any("run 1: y: type" in p for p in problems_of(plain_shell, wrong, doubled))


@pytest.mark.parametrize(
    "text",
    [
        "# A case.\n# expects: same\n\n# %% cell\ny = 1\n",
        "# A case.\n# expect: perhaps\n\n# %% cell\ny = 1\n",
        "# A case.\n# expect: refused\n\n# %% cell\ny = 1\n",
        "# A case.\n# differs: y becomes-a-frog\n\n# %% cell\ny = 1\n",
        "# A case.\n# compiles: 1\n\n# %% cell\ny = 1\n",
        "# A case.\n# %% cel\ny = 1\n",
        "# A case.\nimport jax\n# %% cell\ny = 1\n",
        "# A case.\n\n# %% setup\ny = 1\n",
        "# %% cell\ny = 1\n",
    ],
)
def test_a_file_that_is_not_understood_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match="planted"):
        parse_case(text, "planted")


def test_the_reader_finds_every_part_of_a_file() -> None:
    case = parse_case(
        '# One.\n# Two.\n# expect: refused "x"\n# expect 2: same\n# line: 3\n# needs: a b\n'
        "# may differ: y['k'] numpy-rules\n\n# %% setup\na = 1\n\n"
        "# %% cell -t n\n\n# note\nb = 2\n\n"
        "# %% change\nc = 3\n\n# %% after\nd = 4\n",
        "folder/name",
    )
    assert (case.about, case.options, case.line, case.needs) == ("One. Two.", "-t n", 3, ("a", "b"))
    assert (case.setup, case.cell, case.change, case.after) == (
        "a = 1\n",
        "\n# note\nb = 2\n",
        "c = 3\n",
        "d = 4\n",
    )
    assert case.expect == (Expectation(Outcome.REFUSED, text="x"), Expectation(Outcome.SAME))
    assert case.may_differ[0].path == "y['k']"
    assert CELLS.name == "cells"
