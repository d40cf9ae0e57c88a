"""Interrupts at random moments in a real kernel: all or nothing, and the next cell works."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from measurements.interrupts import CELLS, Cell, Shell, kernel, trials

pytestmark = pytest.mark.kernel
pytest.importorskip("ipykernel")
pytest.importorskip("jupyter_client.manager")


@pytest.fixture(scope="module")
def shell() -> Iterator[Shell]:
    with kernel() as opened:
        yield opened


@pytest.mark.parametrize("name", ["block form", "function form", "gradient"])
def test_an_interrupt_at_any_moment_leaves_all_or_nothing(shell: Shell, name: str) -> None:
    found = trials(shell, name, 2, seed=1)
    assert found["problems"] == []
    assert found["moments"] == 2


def test_a_cell_that_leaves_something_else_is_noticed(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    cell = Cell("%%jaxwatch -q", "y = x * {i}", in_parts=True, plain="y = x")
    monkeypatch.setitem(CELLS, "other", cell)
    found = trials(shell, "other", 1, seed=1)
    assert "the cell again leaves something else" in " ".join(found["problems"])
