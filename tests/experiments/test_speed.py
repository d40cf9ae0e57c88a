"""The comparisons that users come with, each as they would type it; no time is asserted."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

import pytest

from jaxscope.model import FindingKind, Unavailable
from tests.magics.notebook import Notebook, open_notebook
from tests.results.comparisons import few_rounds

pytestmark = [
    # PyTorch deprecates TorchScript, and its own code warns of itself.
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]

SETUP = """
import numpy as np
import jax
import jax.numpy as jnp
rng = np.random.default_rng(0)
big = rng.normal(size=(60, 50))
mats = rng.normal(size=(5, 3, 3)).astype(np.float32)
cut = rng.normal(size=(3, 3)) + 1j * rng.normal(size=(3, 3))
two = np.full(4, 2.0)
n = 500
def radius(m):
    return jnp.abs(jnp.linalg.eigvals(m)).max()
"""


@pytest.fixture(scope="module")
def notebook() -> Iterator[Notebook]:
    with open_notebook() as opened:
        opened.must(SETUP)
        yield opened


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    few_rounds(monkeypatch)


def rows(notebook: Notebook) -> dict[str, Any]:
    return {row.label: row for row in notebook.names["c"].rows}


def codes(row: Any) -> set[str]:
    return {warning.code for warning in row.warnings}


def words(text: str) -> str:
    return " ".join(text.split())


# (x - mean) / std.


def test_a_normalization_is_compared_at_one_precision_and_says_so(notebook: Notebook) -> None:
    ran = notebook.must(
        "%%jaxbench --vs numpy,jax-eager,jax -o c\n(big - xp.mean(big)) / xp.std(big)"
    )
    found = rows(notebook)
    assert set(found) == {"numpy", "jax-eager", "jax"}
    assert {row.dtype for row in found.values()} == {"float32"}
    assert all(row.agrees for row in found.values())
    assert "`big` (float64) was converted to 32 bits for all" in words(ran.text)


def test_a_normalization_tells_of_the_precision_and_needs_little_memory(
    notebook: Notebook,
) -> None:
    notebook.must("large = rng.normal(size=(1000, 600))")
    notebook.must("%%jaxjit -q -n 1 -o report\nz = (large - large.mean()) / large.std()")
    report = notebook.names["report"]
    assert report.memory.temp < notebook.names["large"].size * 4
    (precision,) = [f for f in report.findings if "is NumPy float64" in f.message]
    assert precision.line == 2
    assert "--x64" in precision.fix
    assert "fusion" in report.stage("optimized_hlo").text


# Normal random numbers.


def test_random_numbers_differ_and_a_call_is_told_in_its_parts(notebook: Notebook) -> None:
    notebook.must(
        "%%jaxbench -o c\n"
        "# numpy\n"
        "np.random.default_rng(0).normal(size=(20, 20))\n"
        "# jax-eager\n"
        "jax.random.normal(jax.random.key(0), (20, 20))\n"
        "# jax\n"
        "jax.random.normal(jax.random.key(0), (20, 20))"
    )
    found = rows(notebook)
    assert [found[label].agrees for label in ("numpy", "jax-eager", "jax")] == [True, False, False]
    assert "J201" in codes(found["jax"])
    for label in ("jax-eager", "jax"):
        assert found[label].dispatch_s is not None
        assert not isinstance(found[label].device_s, Unavailable)


# The spectral radius of many small matrices.


def test_loops_and_maps_of_a_spectral_radius_agree(notebook: Notebook) -> None:
    notebook.must(
        "%%jaxbench -o c\n"
        "# numpy\n"
        "np.abs(np.linalg.eigvals(mats)).max(-1)\n"
        "# jax-eager: loop\n"
        "jnp.stack([radius(m) for m in mats])\n"
        "# jax: loop\n"
        "jnp.stack([radius(m) for m in mats])\n"
        "# jax-eager: vmap\n"
        "jax.vmap(radius)(mats)\n"
        "# jax: vmap\n"
        "jax.vmap(radius)(mats)"
    )
    found = rows(notebook)
    assert len(found) == 5
    assert all(row.agrees and row.failure == "" for row in found.values())


def test_a_loop_of_eigenvalues_is_seen_unrolled_and_warned_of_once(notebook: Notebook) -> None:
    notebook.must("many = np.tile(mats, (8, 1, 1))")
    notebook.must(
        "%%jaxjit -q -n 1 -o report\n"
        "out = []\n"
        "for m in many:\n"
        "    out.append(jnp.abs(jnp.linalg.eigvals(m)).max())\n"
        "out = jnp.stack(out)"
    )
    report = notebook.names["report"]
    (unrolled,) = [f for f in report.findings if f.kind is FindingKind.UNROLLED_LOOP]
    assert unrolled.line == 3
    (guess,) = [f for f in report.findings if "are partly estimated" in f.message]
    assert "and 39 more: each calls lapack_" in guess.evidence
    assert guess.evidence.count("estimated as") == 1


def test_operations_outside_any_jit_are_counted(notebook: Notebook) -> None:
    notebook.must("%%jaxprof -q -o profile\nout = jnp.stack([radius(m) for m in mats])")
    found = notebook.names["profile"].record.profile
    assert found.runs >= 3 * 5


# The sum of arange(n).


def test_a_sum_that_the_compiler_folds_is_said_to_compute_nothing(notebook: Notebook) -> None:
    c = "# c\ndouble total(long n) {\n    double s = 0;\n"
    c += "    for (long i = 0; i < n; i++) s += i;\n    return s;\n}"
    ran = notebook.must(
        "%%jaxbench -o c --no-check\n"
        "# numpy: python\n"
        "sum(range(n))\n"
        "# numpy: formula\n"
        "n * (n - 1) // 2\n"
        "# jax-eager\n"
        "jnp.arange(n, dtype=jnp.float32).sum()\n"
        "# jax\n"
        "jnp.arange(n, dtype=jnp.float32).sum()" + (f"\n{c}" if shutil.which("cc") else "")
    )
    found = rows(notebook)
    assert len(found) == 4 + bool(shutil.which("cc"))
    assert all(row.failure == "" for row in found.values())
    assert [label for label, row in found.items() if "J102" in codes(row)] == ["jax"]
    assert "computes nothing" in ran.text


# What PyTorch gives.


def test_complex_gradients_differ_by_conjugation_in_the_first_line(notebook: Notebook) -> None:
    pytest.importorskip("torch", reason="PyTorch is in the extra `torch`")
    ran = notebook.must(
        "%%jaxbench --grad cut --x64 -o c\n"
        "# jax\n"
        "jnp.abs(jnp.linalg.eigvals(cut)).max()\n"
        "# torch\n"
        "torch.linalg.eigvals(cut).abs().max()"
    )
    assert "differ by complex conjugation" in words(ran.text)[:200]
    assert rows(notebook)["torch"].agrees is False


def test_the_root_of_two_comes_in_each_ones_own_precision(notebook: Notebook) -> None:
    ran = notebook.must("%%jaxbench --dtype keep -o c\n# numpy\nnp.sqrt(two)\n# jax\njnp.sqrt(two)")
    assert {k: row.dtype for k, row in rows(notebook).items()} == {
        "numpy": "float64",
        "jax": "float32",
    }
    assert "(float32: JAX jit; float64: NumPy), so the implementations do different work" in words(
        ran.text
    )
    notebook.must("%%jaxbench --x64 -o c\n# numpy\nnp.sqrt(two)\n# jax\njnp.sqrt(two)")
    assert {row.dtype for row in rows(notebook).values()} == {"float64"}


def test_a_library_on_numpy_arrays_is_a_section_of_numpy(notebook: Notebook) -> None:
    pytest.importorskip("autograd")
    notebook.must("import autograd, autograd.numpy as anp")
    notebook.must(
        "%%jaxbench -o c\n"
        "# setup\n"
        "def loss(v):\n"
        "    return anp.sum(anp.tanh(v) ** 2)\n"
        "# numpy: autograd\n"
        "autograd.grad(loss)(mats)\n"
        "# jax\n"
        "jax.grad(lambda v: jnp.sum(jnp.tanh(v) ** 2))(mats)"
    )
    found = rows(notebook)
    assert set(found) == {"numpy: autograd", "jax"}
    assert all(row.agrees for row in found.values())
