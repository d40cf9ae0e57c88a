"""Names of the running IPython's cells."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from jaxscope.capture.source import cell_names


def test_a_cell_has_the_number_that_it_last_ran_under(monkeypatch: pytest.MonkeyPatch) -> None:
    compiler = SimpleNamespace(_filename_map={"<ipython-input-1>": 3})
    monkeypatch.setattr(cell_names, "current_shell", lambda: SimpleNamespace(compile=compiler))
    assert cell_names.cell_name("<ipython-input-1>") == "In [3]"
    assert cell_names.cell_name("train.py") is None
