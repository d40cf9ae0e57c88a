"""`%%jaxpmap` on eight simulated devices."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.paths import ROOT

HERE = Path(__file__).parent
X = np.arange(24.0).reshape(8, 3)
W = np.array([1.0, -2.0, 0.5])
GROWN = np.arange(96.0).reshape(8, 4, 3)


@pytest.fixture(scope="module")
def answers() -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, str(HERE / "pmap_session.py")],
        capture_output=True,
        text=True,
        check=False,
        cwd=HERE,
        env={**os.environ, "JAX_PLATFORMS": "cpu", "XLA_FLAGS": "", "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_leading_axis_lies_on_the_devices(answers: dict[str, Any]) -> None:
    np.testing.assert_allclose(answers["names"]["p"], X @ W)
    np.testing.assert_allclose(answers["names"]["q"], np.full(8, (X @ W).sum()))
    assert answers["cell"]["title"] == "pmap(cell)"
    assert answers["cell"]["devices"] == 8
    assert answers["cell"]["inputs"] == ["x", "w"]
    assert answers["cell"]["exact"]


def test_it_compiles_once_and_not_again(answers: dict[str, Any]) -> None:
    assert (answers["cell"]["compiles"], answers["cell"]["own compiles"]) == (1, 1)
    assert (answers["again"]["compiles"], answers["again"]["own compiles"]) == (0, 0)


@pytest.mark.parametrize(
    ("name", "title", "expected"),
    [
        ("unnamed", "pmap(cell)", [X * 2]),
        ("four", "pmap(cell)", [X[:4] * 2]),
        ("of a map", "pmap(vmap(cell))", [GROWN @ W]),
        ("under a jit", "jit(pmap(cell))", [X * 2]),
        ("under a map", "jit(vmap(pmap(cell)))", [GROWN.sum(2).T * 2]),
        ("jacobian", "jit(jacrev(pmap(cell)))", [X]),
        ("functions", "pmap(h)", [X @ W]),
        ("decorated", "pmap(g)", [X @ W]),
        ("line", "pmap(f)", [X @ W]),
    ],
)
def test_values_are_those_of_plain_numpy(
    answers: dict[str, Any], name: str, title: str, expected: list[np.ndarray]
) -> None:
    assert answers[name]["title"] == title
    for ours, theirs in zip(answers[name]["value"], expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5)


def test_a_gradient_under_a_pmap(answers: dict[str, Any]) -> None:
    found = answers["of a gradient"]
    assert found["title"] == "pmap(value_and_grad(cell))"
    value, gradient = found["value"]
    np.testing.assert_allclose(value, np.full(8, ((X @ W - 1) ** 2).mean()), rtol=1e-5)
    np.testing.assert_allclose(np.mean(gradient, 0), 2 * (X @ W - 1) @ X / 8, rtol=1e-5)
    np.testing.assert_allclose(answers["names"]["loss"], value)


def test_results_stay_on_the_devices(answers: dict[str, Any]) -> None:
    assert answers["unnamed"]["sharding"] == [8]
    assert answers["four"]["sharding"] == [4]


def test_a_decorated_function_is_jaxs_own_and_compiles_once(answers: dict[str, Any]) -> None:
    assert answers["bound"]["g is pmap's"]
    assert answers["decorated"]["compiles"] == 1
    assert answers["decorated"]["inputs"] == ["v", "u"]


def test_inspect_takes_a_pmapped_function(answers: dict[str, Any]) -> None:
    found = answers["inspected"]
    assert found["title"] == "pmap(<lambda>)"
    assert (found["devices"], found["own compiles"], found["compiles"]) == (8, 1, 1)


def test_a_pmap_in_a_profiled_cell_is_the_users_program(answers: dict[str, Any]) -> None:
    """JAX also splits `x` over the devices in each call, which no `jax.jit` would avoid."""
    assert answers["profiled"]["title"] == "jit(pmap)"
    assert "eager" not in answers["profiled"]["findings"]


@pytest.mark.parametrize(
    ("name", "kind", "says"),
    [
        ("too many", "UsageError", "the mapped axis has length 16, but there are 8 devices"),
        ("more devices", "UsageError", "--devices 9 needs 9 devices, but there are 8 devices."),
        ("wrong axis", "UsageError", "the mapped axis has length 8, but --devices is 4"),
        ("wrong axis", "UsageError", "slice. Reshape the inputs to (4, …), and put `vmap` inside."),
        ("uneven", "UsageError", "Pad the mapped axis to 9, reshape the inputs to (3, …), and put"),
        ("too few", "UsageError", "one slice. Leave --devices out."),
        ("one device", "UsageError", "Use `vmap` for several examples on one device."),
        ("decorated too many", "", "A pmap gives each device one slice"),
        ("other mesh", "ValueError", "A pmap uses its own mesh, but `jax.set_mesh` has"),
        ("other mesh decorated", "ValueError", "jaxscope: Line 4: A pmap uses its own mesh"),
        ("other mesh in a line", "ValueError", "jaxscope: A pmap uses its own mesh, but"),
        ("other mesh written", "ValueError", "than that of this `shard_map`: leave out"),
        ("too late", "UsageError", "JAX is already running with 8 CPU devices"),
    ],
)
def test_what_does_not_fit_is_said(
    answers: dict[str, Any], name: str, kind: str, says: str
) -> None:
    assert answers[name]["error"] == kind or not kind
    assert says in answers[name]["message"]
    assert answers["after all"]["value"] == [276.0]


def test_the_mesh_in_force_is_left_as_the_advice_says(answers: dict[str, Any]) -> None:
    assert (
        "`jax.set_mesh(jax.sharding.Mesh(np.empty((), object), ()))`"
        in (answers["other mesh"]["message"])
    )
    np.testing.assert_allclose(answers["without mesh"]["value"], [X * 2])


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("moved along an axis", ", or use `jax.lax.with_sharding_constraint`."),
        ("moved to a device", "."),
    ],
)
def test_a_move_that_jax_leaves_out_of_a_program_is_refused(
    answers: dict[str, Any], name: str, instead: str
) -> None:
    fix = f"Call it in a cell without the magic{instead}"
    assert answers[name]["message"].startswith("Line 2: `jax.device_put` does not move its result")
    assert fix in answers[name]["message"]


def test_data_is_where_plain_python_puts_it(answers: dict[str, Any]) -> None:
    for name in ("moved by a function", "moved to all", "constrained"):
        assert answers[name]["sharding"] == [2]
