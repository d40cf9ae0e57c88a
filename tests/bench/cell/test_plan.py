"""From sections and a request to a plan."""

from __future__ import annotations

import pickle
import sys
import threading
import types
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxscope.bench.cell.framework import framework
from jaxscope.bench.cell.inputs import BenchRequest, InputSpec, spec
from jaxscope.bench.cell.line import assignments
from jaxscope.bench.cell.plan import PlanSource, cell_plan, limits
from jaxscope.bench.cell.sections import CellError
from jaxscope.bench.plan import Plan

KNOWN = ("numpy", "jax", "jax-eager", "torch", "c")
NAMES = {"np": np, "jnp": jnp, "x": np.ones(4, np.float32), "w": 2.0, "lock": threading.Lock()}


def planned(text: str, names: dict[str, Any] | None = None, **asked: Any) -> Plan:
    return cell_plan(
        PlanSource(text, BenchRequest(**asked), names or NAMES, KNOWN, ("numpy", "jax"))
    )


def results(plan: Plan, size: dict[str, float]) -> list[Any]:
    """The results of each Python implementation for the inputs of a size."""
    args = list(plan.inputs(size).values())
    return [entry.function(*([np] if entry.namespaced else []), *args) for entry in plan.entries]


def test_one_source_becomes_an_entry_for_each_implementation():
    plan = planned("xp.sum(x) * w")
    assert [(e.label, e.implementation, e.namespaced) for e in plan.entries] == [
        ("numpy", "numpy", True),
        ("jax", "jax", True),
    ]
    assert list(plan.inputs({})) == ["x"]
    assert results(plan, {}) == [8.0, 8.0]


def test_vs_chooses_among_the_sections_and_orders_them():
    text = "# numpy\nx\n# jax\nx\n# jax: again\nx"
    assert [e.label for e in planned(text).entries] == ["numpy", "jax", "jax: again"]
    assert [e.label for e in planned(text, vs=("jax", "numpy")).entries] == [
        "jax",
        "jax: again",
        "numpy",
    ]


def test_a_section_of_ones_own_comes_before_the_shared_source():
    plan = planned("# xp\nx + 1\n# jax\nx + 2")
    assert [(e.label, e.namespaced) for e in plan.entries] == [("numpy", True), ("jax", False)]
    with pytest.raises(CellError, match="C cannot run the shared source"):
        planned("x + 1", vs=("numpy", "c"))


def test_the_names_change_with_the_size_and_the_setup_runs_again():
    text = "# setup\nk = n * 10\n# numpy\ndef f(a):\n    return a.sum() * k\nf(y)"
    plan = planned(
        text, inputs=(spec("y", "ones(n)"),), sizes=({"n": 2}, {"n": 3}), dtype="float32"
    )
    assert results(plan, {"n": 2}) == [40.0]
    assert results(plan, {"n": 3}) == [90.0]
    assert results(plan, {"n": 2}) == [40.0]


def test_the_users_names_are_not_touched():
    names = dict(NAMES)
    plan = planned("# setup\nx = 3\nextra = 1\n# numpy\nx + extra", names)
    assert results(plan, {}) == [4]
    assert names == NAMES


def test_a_size_that_is_too_large_is_planned_without_being_made():
    plan = planned("xp.sum(y)", inputs=(spec("y", "normal(n, n)"),), sizes=({"n": 10**9},))
    assert plan.input_bytes is not None
    assert plan.input_bytes({"n": 10**9}) == 8 * 10**18
    with pytest.raises(MemoryError, match="Use smaller --sizes"):
        planned(
            "# setup\nz = y\n# numpy\nz",
            inputs=(spec("y", "normal(n, n)"),),
            sizes=({"n": 10**9},),
        )


def test_a_plan_travels_as_its_text_and_the_names_it_reads():
    names = {k: v for k, v in NAMES.items() if k != "np"}
    text = "# setup\nk = n\n# numpy\nx * k * w"
    plan = planned(text, names, sizes=({"n": 2}, {"n": 3}))
    copy = pickle.loads(pickle.dumps(plan))
    assert [e.label for e in copy.entries] == ["numpy"]
    for size in ({"n": 2}, {"n": 3}):
        assert np.array_equal(results(copy, size)[0], results(plan, size)[0])


def test_a_plan_of_expressions_travels_too():
    plan = cell_plan(PlanSource([("numpy", "a", "x + w")], BenchRequest(), NAMES))
    copy = pickle.loads(pickle.dumps(plan))
    assert np.array_equal(results(copy, {})[0], np.full(4, 3.0))


def test_frameworks_have_their_usual_names_unless_the_user_gave_them_others():
    assert results(planned("# numpy\nnp.sum(x)", {"x": np.ones(2)}), {}) == [2.0]
    names = {"x": np.ones(2), "np": 5}
    assert results(planned("# numpy\nx * np", names), {})[0].tolist() == [5.0, 5.0]


@pytest.mark.parametrize(("name", "module"), [("tf", "tensorflow"), ("cp", "cupy")])
def test_a_framework_that_is_not_imported_has_its_usual_name(
    name: str, module: str, monkeypatch: pytest.MonkeyPatch
):
    framework = types.ModuleType(module)
    framework.double = lambda x: 2 * x  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module, framework)
    plan = planned(f"# numpy\n{name}.double(x)", {"x": np.ones(2)})
    assert results(plan, {})[0].tolist() == [2.0, 2.0]


def test_containers_of_arrays_are_noted_as_constants():
    names = {**NAMES, "params": {"w": np.ones(3)}}
    (note,) = planned("# jax\nx + params['w'][0]", names).notes()
    assert note.startswith("`params` holds arrays, so it is a constant")
    assert planned("# numpy\nx + params['w'][0]", names).notes() == ()


def test_code_that_calls_jax_is_not_called_numpy_or_pytorch():
    def own(x: Any) -> Any:
        return jnp.tanh(x).sum()

    names = {**NAMES, "own": own, "double": lambda x: 2 * x}
    default = ("numpy", "jax", "jax-eager", "torch")

    def labels(text: str) -> list[str]:
        source = PlanSource(text, BenchRequest(), names, KNOWN, default)
        return [entry.label for entry in cell_plan(source).entries]

    assert labels("own(x)") == ["jax", "jax-eager"]
    assert labels("y = x + 1\njnp.tanh(y)") == ["jax", "jax-eager"]
    assert labels("double(x)") == list(default)
    assert labels("xp.tanh(x)") == list(default)


def test_a_call_of_a_jitted_function_alone_is_timed_as_it_is():
    names = {**NAMES, "f": jax.jit(lambda p, x: x @ p["w"]), "p": {"w": jnp.ones(4)}}
    plan = planned("f(p, x)", names)
    assert [(e.label, e.implementation) for e in plan.entries] == [("f(p, x)", "jax-eager")]
    assert plan.notes() == ()


@pytest.mark.parametrize(
    ("text", "said"),
    [("np.tanh(x)", "`np`"), ("xp.tanh(x) * np.pi", ""), ("x * 2", ""), ("# numpy\nnp.sin(x)", "")],
)
def test_a_shared_source_of_one_framework_is_noted(text: str, said: str):
    notes = planned(text).notes()
    assert [said in note for note in notes] == ([True] if said else [])


def test_code_of_jax_is_no_news_where_only_jax_runs_it():
    assert planned("jnp.tanh(x)", vs=("jax", "jax-eager")).notes() == ()
    (note,) = planned("jnp.tanh(x)", vs=("jax", "numpy")).notes()
    assert "`jnp`" in note


def test_a_time_limit_is_shared_by_the_sizes():
    assert limits(None).total_s is None
    found = limits(12.0, 6)
    assert (found.total_s, found.seconds, found.call_s) == (12.0, 1.0, 3.0)
    assert limits(1000.0).seconds == 10.0


def test_code_belongs_to_the_framework_whose_functions_it_calls():
    def of_numpy(a: Any) -> Any:
        return np.sin(a)

    def of_jax(a: Any) -> Any:
        return jnp.sin(a) * np.pi

    assert [framework(f) for f in (of_numpy, of_jax, np.sin, jnp.sin, len)] == [
        "numpy",
        "jax-eager",
        "numpy",
        "jax-eager",
        None,
    ]


def _specs(line: str) -> tuple[InputSpec, ...]:
    return tuple(spec(name, text) for name, text in assignments(line))


def test_a_function_is_called_with_the_numbers_of_its_parameters_names():
    text = "def f(x, k, n):\n    return x * k + n"
    for names, line in (({"x": 2 * np.ones(3), "k": 2.0}, "n=3"), ({"k": 2.0}, "n=3 x=2*ones(n)")):
        plan = planned(text, {**names, "np": np}, inputs=_specs(line))
        assert list(plan.inputs({})) == ["x"]
        np.testing.assert_array_equal(results(plan, {})[0], [7.0, 7.0, 7.0])


def test_a_tuple_where_an_input_needs_a_size_names_the_option_for_sizes():
    with pytest.raises(CellError, match="Write sizes as `--sizes n=…`"):
        planned("x + 1", {"np": np}, inputs=_specs("n=100,200 x=normal(n)")).inputs({})
