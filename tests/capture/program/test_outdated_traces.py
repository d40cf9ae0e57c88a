"""Notes on functions that JAX traced before a global of theirs changed."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from tests.magics.notebook import Notebook, open_notebook

STEP = "@jax.jit\ndef step(v):\n    return helper(v) + 1"
SETUP = f"""
import jax, jax.numpy as jnp
x, k, other = jnp.ones(3), 2.0, 1
def helper(v):
    return v.real * k
{STEP}
"""
HELPER = "def helper(v):\n    return v.real * k * 2"
REPORTS = {
    "line": "%jaxjit -q -n 1 -o report step(x)",
    "block": "%%jaxjit -q -n 1 -o report\nfor _ in range(2):\n    y = step(x)",
    "function": "%%jaxjit -q -n 1 -o report\ndef go(v):\n    return step(v)\ny = go(x)",
}


@pytest.fixture
def notebook() -> Iterator[Notebook]:
    with open_notebook() as opened:
        opened.must(SETUP)
        yield opened


def notes(notebook: Notebook) -> list[str]:
    found = notebook.names["report"].record.notes
    return [note for note in found if note.startswith("JAX traced `step` before ")]


@pytest.mark.parametrize("report", REPORTS.values(), ids=REPORTS)
@pytest.mark.parametrize("first", ["y = step(x)", *REPORTS.values()], ids=["plain", *REPORTS])
def test_a_global_that_changed_after_the_trace_has_a_note(
    notebook: Notebook, first: str, report: str
) -> None:
    notebook.must(first)
    notebook.must("other = 2\nreal = 3.0")  # an attribute of the code, and no global of it
    notebook.must(report)
    assert notes(notebook) == []
    notebook.must("k = 3.0")
    for _ in range(2):
        notebook.must(report)
        (note,) = notes(notebook)
        assert note.startswith("JAX traced `step` before `k` changed, and keeps that program. ")
    notebook.must(HELPER)
    notebook.must(report)
    assert "before `helper` and `k` changed" in notes(notebook)[0]


@pytest.mark.parametrize(
    ("config", "changed"),
    [
        ("Config(0.1, jnp.float32)", "Config(0.1, jnp.float16)"),
        ("Pair(0.1, jnp.float32)", "Pair(0.2, jnp.float32)"),
        ("{'lr': 0.1}", "{'lr': 0.2}"),
    ],
)
def test_a_configuration_is_one_of_its_globals(
    notebook: Notebook, config: str, changed: str
) -> None:
    classes = (
        "import dataclasses, typing\n@dataclasses.dataclass\nclass Config:\n"
        "    lr: float\n    dtype: type\n"
        "class Pair(typing.NamedTuple):\n    lr: float\n    dtype: type\n"
    )
    notebook.must(f"{classes}k = {config}\ndef helper(v):\n    return v * len(str(k))")
    notebook.must(REPORTS["line"])
    notebook.must(f"{classes}k = {config}")
    notebook.must(REPORTS["line"])
    assert notes(notebook) == []
    notebook.must(f"k = {changed}")
    notebook.must(REPORTS["line"])
    assert "before `k` changed" in notes(notebook)[0]


def test_a_function_that_is_defined_again_has_its_globals(notebook: Notebook) -> None:
    notebook.must(REPORTS["line"])
    notebook.must("k = 3.0")
    notebook.must(STEP)
    value = notebook.must(REPORTS["line"]).value
    assert notes(notebook) == []
    np.testing.assert_array_equal(value, 4.0)


def test_a_new_shape_is_traced_with_the_globals_as_they_are(notebook: Notebook) -> None:
    notebook.must(REPORTS["line"])
    notebook.must("k, x = 3.0, jnp.ones(5)")
    notebook.must(REPORTS["line"])
    assert notes(notebook) == []


def test_a_function_of_flax_has_the_note_of_its_own(notebook: Notebook) -> None:
    pytest.importorskip("flax.nnx")
    notebook.must(
        "from flax import nnx\nnet = nnx.Linear(3, 3, rngs=nnx.Rngs(0))\n"
        "@nnx.jit\ndef step(m, v):\n    return helper(m(v))"
    )
    for call in (line.replace("step(x)", "step(net, x)") for line in list(REPORTS.values())[:2]):
        notebook.must(call)
        assert notes(notebook) == []
    notebook.must("k = 3.0")
    for call in (line.replace("step(x)", "step(net, x)") for line in list(REPORTS.values())[:2]):
        notebook.must(call)
        assert len(notes(notebook)) == 1


MODEL = """
import functools
class Model:
    steps = 0
    def __init__(self, rate, name="a"):
        self.rate, self.name, self.weights = rate, name, jnp.ones(3)
    @functools.partial(jax.jit, static_argnums=0)
    def static(self, v):
        self.steps += 1
        return self.scaled(v) * v.size
    def scaled(self, v):
        return v * self.rate
    def bound(self, v):
        return self.scaled(v)
model, v = Model(2.0), jnp.ones(3)
bound = jax.jit(model.bound)
"""


@pytest.mark.parametrize("call", ["model.static(v)", "bound(v)"])
def test_an_attribute_of_an_object_that_changed_after_the_trace_has_a_note(
    notebook: Notebook, call: str
) -> None:
    line = f"%jaxjit -q -n 1 -o report {call}"
    notebook.must(MODEL)
    notebook.must(call)
    notebook.must("model.name, model.steps, model.size = 'b', 9, 4")  # no part of the program
    notebook.must(line)
    assert not [note for note in notebook.names["report"].record.notes if "traced" in note]
    notebook.must("model.rate = 3.0")
    notebook.must(line)
    (note,) = [one for one in notebook.names["report"].record.notes if "traced" in one]
    assert "before `self.rate` changed, and keeps that program. Create the object again" in note
    stale = notebook.must(call).value
    np.testing.assert_array_equal(stale, 6.0 if "static" in call else 2.0)
    notebook.must("model = Model(3.0)\nbound = jax.jit(model.bound)")
    fresh = notebook.must(line)
    assert not [note for note in notebook.names["report"].record.notes if "traced" in note]
    np.testing.assert_array_equal(fresh.value, 1.5 * stale)
