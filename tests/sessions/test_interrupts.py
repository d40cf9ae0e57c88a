"""Interrupts at random moments in a real kernel: all or nothing, and the next cell works."""

from __future__ import annotations

import queue
from typing import Any

import pytest

from measurements.interrupts import CELLS, Cell, kernel, trials

pytestmark = pytest.mark.kernel
pytest.importorskip("ipykernel")
pytest.importorskip("jupyter_client.manager")


def found(name: str, moments: int) -> dict[str, Any]:
    """The trials in a kernel of their own.

    Where an interrupt meets ipykernel as it sends, its output may stop for good; that says nothing
    of the cell, whose trials then run again in another kernel.
    """
    try:
        with kernel() as shell:
            return trials(shell, name, moments, seed=1)
    except queue.Empty:
        with kernel() as shell:
            return trials(shell, name, moments, seed=2)


@pytest.mark.parametrize("name", ["block form", "function form", "gradient"])
def test_an_interrupt_at_any_moment_leaves_all_or_nothing(name: str) -> None:
    done = found(name, 2)
    assert done["problems"] == []
    assert done["moments"] == 2


def test_a_cell_that_leaves_something_else_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    cell = Cell("%%jaxwatch -q", "y = x * {i}", in_parts=True, plain="y = x")
    monkeypatch.setitem(CELLS, "other", cell)
    assert "the cell again leaves something else" in " ".join(found("other", 1)["problems"])
