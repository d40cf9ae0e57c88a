"""`%jaxtry`: a fix in a file that the notebook imports."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from jaxscope.model.variants import TrialVerdict
from tests.magics.notebook import Notebook
from tests.magics.trying.trials import only, tried

pytestmark = pytest.mark.jax

LAYERS = "import jax.numpy as jnp\ndef whiten(m, b):\n    return jnp.linalg.inv(m) @ b\n"
MODEL = "import layers_of_a_trial as l\ndef apply(m, b):\n    return l.whiten(m, b) + 1\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in {"layers_of_a_trial": LAYERS, "model_of_a_trial": MODEL}.items():
        (tmp_path / f"{name}.py").write_text(text, "utf-8")
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_a_fix_in_a_module_is_tried_and_each_module_is_as_before(
    notebook: Notebook, folder: Path
) -> None:
    notebook.must("import layers_of_a_trial, model_of_a_trial as model")
    modules = [sys.modules["layers_of_a_trial"], sys.modules["model_of_a_trial"]]
    before = [dict(vars(module)) for module in modules]
    notebook.must("%%jaxjit -n 1\ny = model.apply(m, b)")
    trial = only(tried(notebook, "%jaxtry 1"))
    assert trial.verdict is TrialVerdict.BETTER
    assert "+    return jnp.linalg.solve(m, b)" in trial.diff
    for module, names in zip(modules, before, strict=True):
        assert vars(module).keys() == names.keys()
        assert all(vars(module)[name] is value for name, value in names.items())
    assert (folder / "layers_of_a_trial.py").read_text("utf-8") == LAYERS
