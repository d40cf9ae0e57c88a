"""Contestants that other packages bring, and what is known of ours."""

from __future__ import annotations

import re
from importlib.metadata import EntryPoint
from typing import ClassVar

import numpy as np
import pytest

from jaxscope.bench.frameworks import registry
from tests.bench.side_by_side import measured, normal, row
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


class NoContestant:
    """Something else under the same entry point."""


class Broken:
    def __init__(self):
        raise RuntimeError("no licence")


class Point(EntryPoint):
    targets: ClassVar[dict[str, type]] = {
        "autograd": autograd(),
        "strange": NoContestant,
        "broken": Broken,
    }

    def load(self):
        return self.targets[self.name]


@pytest.fixture
def brought(monkeypatch):
    points = [Point(name, f"plugin:{name}", registry.GROUP) for name in Point.targets]
    monkeypatch.setattr(registry, "entry_points", lambda group: points)


def loss(w):
    return (w * w).sum()


def test_a_plug_in_of_a_few_lines_takes_part(brought):
    pytest.importorskip("autograd")
    record = measured(
        ("jax", "jax", loss), ("autograd", "autograd", loss), inputs={"w": normal(9)}, grad=(0,)
    )
    found = row(record, "autograd")
    assert found.failure == ""
    assert found.agrees
    assert len(found.samples) == 8
    assert len(documented().splitlines()) <= 40


def test_a_plug_in_may_refuse(brought):
    pytest.importorskip("autograd")
    record = measured(
        ("autograd", "autograd", loss), inputs={"w": normal(3, 9)}, vmap=(0,), check=False
    )
    assert row(record, "autograd").failure == "HIPS autograd has no vmap."


def test_a_plug_in_that_fails_is_a_row(brought):
    record = measured(("a", "broken", loss), ("b", "strange", loss), ("numpy", "numpy", np.sum))
    assert row(record, "a").failure == (
        "The plug-in `plugin:broken` failed: RuntimeError: no licence."
    )
    assert row(record, "b").failure == (
        "The plug-in `plugin:strange` is no subclass of jaxscope.bench.Contestant."
    )
    assert len(row(record, "numpy").samples) == 8


def test_names_are_ours_first(brought):
    assert registry.names()[:4] == ("numpy", "jax", "jax-eager", "torch")
    assert registry.names()[-3:] == ("autograd", "broken", "strange")


def test_pytorch_that_is_not_installed_is_a_row_with_the_reason(monkeypatch):
    import sys

    for name in [n for n in sys.modules if n == "torch" or n.startswith("torch.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "torch", None)
    record = measured(("torch", "torch", loss), ("numpy", "numpy", np.sum))
    assert row(record, "torch").failure == "PyTorch is not installed here: `pip install torch`."
    assert len(row(record, "numpy").samples) == 8
