"""Implementations of plug-ins, and the registration of jaxscope's own."""

from __future__ import annotations

import ast
import re
import tomllib
from importlib.metadata import EntryPoint, entry_points
from typing import ClassVar

import jax.numpy as jnp
import numpy as np
import pytest

from jaxscope.bench import Implementation, PlanError
from jaxscope.bench.cell.functions import functions_plan
from jaxscope.bench.cell.inputs import BenchRequest
from jaxscope.bench.frameworks import registry
from jaxscope.bench.frameworks.jax import JaxJit
from jaxscope.view.comparison.answer import answer
from tests.bench.side_by_side import codes, measured, normal, row
from tests.paths import ROOT

PAGE = ROOT / "docs" / "benchmark-method.md"


def documented():
    """The plug-in of the documentation: HIPS autograd, whole."""
    (block,) = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text("utf-8"), re.M | re.S)
    return block


def autograd():
    names = {}
    exec(documented(), names)
    return names["Autograd"]


class NotAnImplementation:
    """Something else under the same entry point."""


class Broken:
    def __init__(self):
        raise RuntimeError("no licence")


class Jaxley(Implementation):
    """A simulator on NumPy arrays that is not JAX, whatever its name begins with."""

    name = "jaxley"


class Fused(JaxJit):
    """JAX, under a name of its own."""

    name = "fused"
    title = "Fused"


class Point(EntryPoint):
    targets: ClassVar[dict[str, type]] = {
        "documented": autograd(),
        "jaxley": Jaxley,
        "fused": Fused,
        "strange": NotAnImplementation,
        "broken": Broken,
    }

    def load(self):
        return self.targets[self.name]


@pytest.fixture
def brought(monkeypatch):
    points = [Point(name, f"plugin:{name}", registry.GROUP) for name in Point.targets]
    installed = entry_points(group=registry.GROUP)
    monkeypatch.setattr(registry, "entry_points", lambda group: [*points, *installed])


def loss(w):
    return (w * w).sum()


def test_a_plug_in_of_a_few_lines_takes_part(brought):
    pytest.importorskip("autograd")
    record = measured(
        ("jax", "jax", loss), ("documented", "documented", loss), inputs={"w": normal(9)}, grad=(0,)
    )
    found = row(record, "documented")
    assert found.failure == ""
    assert found.agrees
    assert len(found.samples) == 8
    assert len(documented().splitlines()) <= 40


def test_a_plug_in_may_refuse(brought):
    pytest.importorskip("autograd")
    record = measured(
        ("documented", "documented", loss), inputs={"w": normal(3, 9)}, vmap=(0,), check=False
    )
    assert row(record, "documented").failure == "HIPS autograd has no vmap."


def test_a_plug_in_that_fails_is_a_row(brought):
    record = measured(("a", "broken", loss), ("b", "strange", loss), ("numpy", "numpy", np.sum))
    assert row(record, "a").failure == (
        "The plug-in `plugin:broken` failed: RuntimeError: no licence."
    )
    assert row(record, "b").failure == (
        "The plug-in `plugin:strange` is not a subclass of jaxscope.bench.Implementation."
    )
    assert len(row(record, "numpy").samples) == 8


def test_names_of_jaxscope_come_first_and_cannot_be_taken(brought, monkeypatch):
    assert registry.names()[:4] == ("numpy", "jax", "jax-eager", "torch")
    assert registry.names()[-5:] == ("broken", "documented", "fused", "jaxley", "strange")
    monkeypatch.setitem(Point.targets, "jax", Broken)
    taken = [Point("jax", "plugin:jax", registry.GROUP), *registry.entry_points(registry.GROUP)]
    monkeypatch.setattr(registry, "entry_points", lambda group: taken)
    assert isinstance(registry.find("jax"), JaxJit)


def entry_points_of_jaxscope():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return project["entry-points"][registry.GROUP]


def test_every_implementation_has_an_entry_point():
    folder = ROOT / "jaxscope" / "bench" / "frameworks"
    written = {
        f"jaxscope.bench.frameworks.{path.stem}:{node.name}"
        for path in folder.glob("*.py")
        for node in ast.parse(path.read_text("utf-8")).body
        if isinstance(node, ast.ClassDef)
        and any(ast.unparse(field).startswith("name = ") for field in node.body)
    }
    missing = written - set(entry_points_of_jaxscope().values())
    assert missing == set(), f'Add to [project.entry-points."{registry.GROUP}"]: {missing}.'


def test_every_implementation_is_in_the_documentation():
    page = (ROOT / "docs" / "benchmarks.md").read_text("utf-8")
    missing = [name for name in entry_points_of_jaxscope() if f"`{name}`" not in page]
    assert missing == [], f"docs/benchmarks.md does not name {missing}."


def test_the_implementations_of_jaxscope_are_declared_like_those_of_a_plug_in():
    declared = entry_points_of_jaxscope()
    stale = "Install again after a change of the entry points: `pip install -e .`, or `make setup`."
    assert set(declared) == set(registry.names()), stale
    for name, target in declared.items():
        module, _, cls = target.partition(":")
        found = registry.find(name)
        assert (type(found).__module__, type(found).__name__) == (module, cls)
        assert found.name == name
        assert found.title


def test_without_installed_metadata_the_fix_is_given(monkeypatch):
    monkeypatch.setattr(registry, "entry_points", lambda group: [])
    with pytest.raises(PlanError, match=r"are not registered, .* Run `pip install -e \.`"):
        registry.names()
    assert registry.find("numpy").missing() == registry.NOT_REGISTERED


def narrowed(*names):
    """The dtype of a float64 input of a comparison of these implementations."""
    plan = functions_plan(
        {name: (name, lambda x: x) for name in names},
        {"x": np.ones(3)},
        BenchRequest(),
        registry.names(),
        (),
    )
    return str(plan.inputs({})["x"].dtype)


def test_a_plug_in_named_like_jax_is_not_treated_as_jax(brought):
    assert narrowed("jaxley", "numpy") == "float64"
    record = measured(
        ("jaxley", "jaxley", lambda x: float(x.sum())), ("numpy", "numpy", lambda x: x.T)
    )
    assert row(record, "jaxley").framework == ""
    assert "J111" not in codes(row(record, "jaxley"))
    assert "J110" not in codes(row(record, "numpy"))


def test_a_plug_in_on_jax_is_treated_as_jax_under_any_name(brought):
    assert narrowed("fused", "numpy") == "float32"
    record = measured(
        ("numpy", "numpy", lambda x: x.T), ("fused", "fused", lambda x: jnp.transpose(x))
    )
    assert (row(record, "fused").framework, row(record, "fused").title) == ("jax", "Fused")
    assert "J110" in codes(row(record, "numpy"))
    assert "J110" not in codes(row(record, "fused"))
    assert "Fused" in answer(record)
    # Its code is the float64 reference where there is none for NumPy.
    alone = measured(("fused", "fused", lambda x: jnp.sin(x).sum()))
    assert row(alone, "fused").agrees
    # Its jaxpr shows what would not fit into memory.
    large = measured(
        ("fused", "fused", lambda x: (x[:, None] * x[None, :]).sum()),
        inputs={"x": normal(10**6)},
        check=False,
    )
    assert row(large, "fused").failure.startswith("This size was skipped: an array of 4 TB")


def test_pytorch_that_is_not_installed_is_a_row_with_the_reason(monkeypatch):
    import sys

    for name in [n for n in sys.modules if n == "torch" or n.startswith("torch.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "torch", None)
    record = measured(("torch", "torch", loss), ("numpy", "numpy", np.sum))
    assert (
        row(record, "torch").failure
        == "PyTorch is not installed here: `pip install jaxscope[torch]`."
    )
    assert len(row(record, "numpy").samples) == 8
