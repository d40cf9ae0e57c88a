"""What a report, a profile and a benchmark say on a GPU; run by `make gpu`."""

from __future__ import annotations

from collections.abc import Iterator

import jax
import jax.numpy as jnp
import pytest

import jaxscope
from jaxscope.capture.timing.peaks import measure_peaks
from jaxscope.model import Cost, Unavailable
from jaxscope.model.profile import CellProfile, Profile
from tests.magics.notebook import Notebook, open_notebook

pytestmark = pytest.mark.gpu

SETUP = """\
import jax
import jax.numpy as jnp
ws = [jax.random.normal(jax.random.key(i), (1024, 1024)) * 0.03 for i in range(4)]
x = jax.random.normal(jax.random.key(9), (4096, 1024))
"""
STEP = """\
@jax.jit
def step(ws, x):
    def loss(ws):
        h = x
        for w in ws:
            h = h @ w
            h = jnp.tanh(h)
        return (h ** 2).mean()
    return jax.tree.map(lambda w, g: w - 0.1 * g, ws, jax.grad(loss)(ws))
ws = step(ws, x)
"""
PRODUCT, TANH = 6, 7
"""The lines of `STEP`."""


@pytest.fixture(scope="module")
def notebook() -> Iterator[Notebook]:
    if jax.default_backend() != "gpu":
        pytest.skip("there is no GPU here")
    with open_notebook() as opened:
        opened.must(SETUP)
        opened.must(STEP)
        yield opened


def profiled(notebook: Notebook, magic: str) -> Profile:
    notebook.must(f"%jaxprof {magic} -o report step(ws, x);")
    found = notebook.names["report"].record.programs[0].profile
    assert isinstance(found, Profile)
    return found


def test_a_step_that_runs_as_a_cuda_graph_has_its_time_by_line(notebook: Notebook) -> None:
    found = profiled(notebook, "")
    assert found.unreliable == ""
    times = {line.place.line: line.seconds for line in found.lines}
    assert max(times, key=lambda line: times[line]) == PRODUCT
    assert times[TANH] > 0
    assert found.unattributed_s < 0.05 * found.covered_s
    assert found.activity is not None
    assert found.activity.hidden == 0
    assert {kernel.op for kernel in found.activity.kernels} >= {op.name for op in found.ops}
    assert found.sampling_note == ""


def test_a_call_that_is_short_has_its_time_by_line_too(notebook: Notebook) -> None:
    notebook.must("y = x[:512]\nsmall = jax.jit(lambda y, w: jnp.tanh(y @ w) @ w)\nsmall(y, ws[0])")
    notebook.must("%jaxprof -o report small(y, ws[0]);")
    found = notebook.names["report"].record.programs[0].profile
    assert isinstance(found, Profile)
    assert found.unreliable == ""
    assert found.covered_s > 0


def test_lines_are_isolated_by_barriers(notebook: Notebook) -> None:
    notebook.must("%jaxprof --isolate-lines -o report step(ws, x);")
    found = notebook.names["report"].record.programs[0].isolated
    assert isinstance(found, Profile), found
    assert {PRODUCT, TANH} <= {line.place.line for line in found.lines}


def test_a_loop_has_its_time_by_line(notebook: Notebook) -> None:
    notebook.must(
        "@jax.jit\ndef rnn(w, xs):\n    def cell(h, x):\n        h = jnp.tanh(h @ w + x)\n"
        "        return h, h.sum()\n    return jax.lax.scan(cell, jnp.zeros((64, 1024)), xs)\n"
        "xs = x.reshape(64, 64, 1024)\nrnn(ws[0], xs)"
    )
    notebook.must("%jaxprof -o report rnn(ws[0], xs);")
    program = notebook.names["report"].record.programs[0]
    found = program.profile
    assert isinstance(found, Profile)
    times = {line.place.line: line.seconds for line in found.lines}
    assert max(times, key=lambda line: times[line]) == 4
    assert found.whole_s < 2 * program.call.median_s


def test_a_cell_counts_each_run_of_a_program(notebook: Notebook) -> None:
    notebook.must("%%jaxprof -o cell\nfor _ in range(5):\n    ws = step(ws, x)")
    found = notebook.names["cell"].record.profile
    assert isinstance(found, CellProfile)
    assert found.runs == 5
    assert found.warnings == ()
    program = notebook.names["cell"].record.programs[0]
    assert isinstance(program.profile, Profile)
    times = {line.place.line: line.seconds for line in program.profile.lines}
    assert max(times, key=lambda line: times[line]) == PRODUCT
    assert program.profile.unattributed_s < 0.05 * program.profile.covered_s


def test_products_are_counted_and_no_call_is_faster_than_the_peaks(notebook: Notebook) -> None:
    notebook.must("%jaxdevices")
    notebook.must("%jaxjit -o report step(ws, x);")
    program = notebook.names["report"].record.programs[0]
    assert isinstance(program.cost, Cost)
    assert program.cost.warnings == ()
    assert program.cost.flops == pytest.approx(3 * 4 * 2 * 4096 * 1024**2, rel=0.15)
    assert not isinstance(program.roofline, Unavailable)
    assert program.cost.flops / program.call.median_s < program.roofline.peak_flops


def test_peaks_are_far_above_those_of_one_launch() -> None:
    device = jax.devices()[0]
    if device.platform != "gpu":
        pytest.skip("there is no GPU here")
    found = {dtype: measure_peaks(device, dtype) for dtype in ("float32", "bfloat16")}
    n = 256  # the launch takes as long as such a product
    a = jnp.ones((n, n))
    product = jax.jit(lambda a: a @ a)
    report = jaxscope.inspect(product, a)
    call = report.record.programs[0].call
    assert call is not None
    assert found["float32"].flops > 20 * 2 * n**3 / call.median_s
    assert found["bfloat16"].flops > found["float32"].flops / 2


def test_a_profile_works_after_pytorch_was_compared(notebook: Notebook) -> None:
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("PyTorch sees no GPU")
    notebook.must("%%jaxbench --vs torch,jax --time-limit 6\ny = xp.tanh(x) + x")
    assert profiled(notebook, "").covered_s > 0


def test_the_plug_in_of_jax_compiles_for_a_target(notebook: Notebook) -> None:
    ran = notebook.must("%jaxjit --target gpu:h100 step(ws, x)")
    assert "gpu:h100" in ran.text


def test_a_cumulative_sum_has_its_time_on_its_line(notebook: Notebook) -> None:
    notebook.must("def total(x):\n    h = jnp.tanh(x)\n    s = jnp.cumsum(h, 0)\n    return s / 2")
    notebook.must("%jaxprof -o report total(x);")
    found = notebook.names["report"].record.programs[0].profile
    assert isinstance(found, Profile)
    times = {line.place.line: line.seconds for line in found.lines}
    assert max(times, key=lambda line: times[line]) == 3
