"""PyTorch as an implementation, where it is installed."""

from __future__ import annotations

import contextlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxscope.bench import Entry, Plan
from jaxscope.bench.frameworks.torch import Torch
from jaxscope.bench.measure import compare
from jaxscope.model import Unavailable
from jaxscope.model.comparison import Phases, TimingMode
from tests.bench.side_by_side import FEW, FastSignals, codes, measured, normal, row

torch = pytest.importorskip("torch", reason="PyTorch is in the extra `torch`")

# PyTorch deprecates TorchScript, and its own code warns of itself.
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]


def loss(w, x):
    return ((x @ w) ** 2).sum()


def test_eager_pytorch_runs_the_namespaced_source_and_agrees():
    def source(xp, x):
        return xp.sum(xp.tanh(x) * 2, axis=-1)

    entries = tuple(Entry(name, name, source, True) for name in ("numpy", "jax", "torch"))
    record = compare(Plan(entries, lambda size: {"x": normal(6, 5)}, limits=FEW), FastSignals())
    found = row(record, "torch")
    assert found.failure == ""
    assert found.agrees
    assert found.dtype == "float32"
    assert found.device == "cpu:0"
    assert found.threads == torch.get_num_threads()
    assert isinstance(found.device_s, Unavailable)
    assert isinstance(found.peak_bytes, int)
    assert found.peak_bytes >= 6 * 5 * 4 * 2
    assert dict(record.versions)["torch"] == torch.__version__


def test_plain_calls_run_in_inference_mode_and_code_with_gradients_does_not():
    seen = []

    def plain(x):
        seen.append(torch.is_inference_mode_enabled())
        return x.sum()

    def own(x):
        leaf = x.clone().requires_grad_()
        (leaf**2).sum().backward()
        return leaf.grad

    measured(("torch", "torch", plain), check=False)
    assert set(seen) == {True}
    assert not torch.is_inference_mode_enabled()
    record = measured(("numpy", "numpy", lambda x: 2 * x), ("torch", "torch", own))
    assert row(record, "torch").failure == ""
    assert row(record, "torch").agrees


def test_gradients_are_taken_by_the_tape_and_by_torch_func():
    inputs = {"w": normal(4), "x": normal(3, 4)}
    record = measured(
        ("jax", "jax", loss),
        ("torch", "torch", loss),
        ("func", "torch-func", loss),
        ("script", "torchscript", loss),
        inputs=inputs,
        grad=(0,),
    )
    assert [r.failure for r in record.rows] == [""] * 4
    assert [r.agrees for r in record.rows] == [True] * 4


def test_batches_and_gradients_of_each_example():
    inputs = {"w": normal(4), "x": normal(7, 3, 4)}
    batched = measured(
        ("numpy", "numpy", loss), ("jax", "jax", loss), ("torch", "torch", loss),
        inputs=inputs, vmap=(None, 0),
    )  # fmt: skip
    assert [r.failure for r in batched.rows] == [""] * 3
    assert [r.agrees for r in batched.rows] == [True] * 3
    both = measured(
        ("jax", "jax", loss), ("torch", "torch", loss), inputs=inputs, vmap=(None, 0), grad=(0,)
    )
    assert [r.failure for r in both.rows] == ["", ""]
    assert [r.agrees for r in both.rows] == [True, True]


def test_complex_gradients_are_the_conjugates_of_each_other():
    z = (normal(3) + 1j * normal(3, seed=1)).astype(np.complex64)
    record = measured(
        ("jax", "jax", lambda z: (jnp.abs(z) ** 2).sum() + z.real.sum() * z.imag.sum()),
        ("torch", "torch", lambda z: (z.abs() ** 2).sum() + z.real.sum() * z.imag.sum()),
        inputs={"z": z},
        grad=(0,),
    )
    assert row(record, "jax").agrees
    (text,) = [d.text for d in row(record, "torch").warnings if d.code == "J201"]
    assert "complex conjugate" in text


def test_torchscript_is_traced_before_the_rounds():
    record = measured(
        ("numpy", "numpy", lambda x: np.sin(x) * 2),
        ("script", "torchscript", lambda x: torch.sin(x) * 2),
    )
    found = row(record, "script")
    assert found.agrees
    assert isinstance(found.compile, Phases)
    assert found.compile.trace_s > 0


def test_a_script_that_folds_into_a_constant_computes_nothing():
    record = measured(
        ("torch", "torch", lambda x: torch.arange(1000.0).sum()),
        ("folded", "torchscript", lambda x: torch.arange(1000.0).sum()),
        ("works", "torchscript", lambda x: torch.arange(1000.0).sum() + x[0]),
        check=False,
    )
    assert "J102" in codes(row(record, "folded"))
    assert "J102" not in codes(row(record, "works"))
    assert "J102" not in codes(row(record, "torch"))


def test_a_script_that_changes_its_input_is_looked_at_all_the_same():
    record = measured(("script", "torchscript", lambda x: x.add_(1)), check=False)
    found = row(record, "script")
    assert found.failure == ""
    assert "J112" in codes(found)
    assert "J102" not in codes(found)


def test_torch_func_without_a_transform_says_what_to_use_instead():
    record = measured(("func", "torch-func", lambda x: x))
    assert "Add --grad or --vmap, or use `torch`." in row(record, "func").failure


def test_an_input_changed_in_place_is_noticed_and_refreshed():
    record = measured(("torch", "torch", lambda x: x.add_(1)), check=False)
    found = row(record, "torch")
    assert found.failure == ""
    assert "J112" in codes(found)


def test_a_view_is_noticed():
    record = measured(("torch", "torch", lambda x: x.T), ("jax", "jax", lambda x: x.T),
                      inputs={"x": normal(3, 4)}, check=False)  # fmt: skip
    assert "J110" in codes(row(record, "torch"))


def test_throughput_of_calls_that_do_not_run_ahead_is_their_latency():
    record = measured(("torch", "torch", torch.sin), mode=TimingMode.THROUGHPUT, check=False)
    assert row(record, "torch").processes[0].inner >= 10


def test_the_time_on_a_gpu_is_that_of_calls_which_wait_in_its_queue(monkeypatch):
    queue = []

    class Event:
        def __init__(self, enable_timing):
            assert enable_timing

        def record(self):
            queue.append(self)

        def elapsed_time(self, last):
            calls = queue[queue.index(self) : queue.index(last)].count("call")
            return calls * 3.0  # ms

    monkeypatch.setattr(torch.cuda, "Event", Event)
    monkeypatch.setattr(torch.cuda, "device", contextlib.nullcontext)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: queue.append("wait"))
    monkeypatch.setattr(torch.cuda, "_sleep", lambda cycles: queue.append("sleep"), raising=False)

    def call(*, wait=True):
        assert not wait
        queue.append("call")

    assert Torch().device_s(call, 1e-3, "gpu:0") == pytest.approx(3e-3)
    measured = queue[queue.index("sleep") + 1 :]
    assert "wait" not in measured[:-1]
    assert measured[-1] == "wait"


@pytest.mark.timeout(900)
def test_torch_compile_compiles_once_and_apart(monkeypatch, tmp_path):
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    # The C++ back end takes a quarter of a minute; this one shows the same order of events.
    happened = []

    def backend(graph, inputs):
        happened.append("compile")

        def call(*args):
            happened.append("call")
            return graph.forward(*args)

        return call

    record = measured(
        ("numpy", "numpy", lambda x: np.sin(x) + 1),
        ("compiled", "torch-compile", lambda x: torch.sin(x) + 1, {"backend": backend}),
    )
    found = row(record, "compiled")
    assert found.failure == ""
    assert found.agrees
    assert isinstance(found.compile, Phases)
    assert found.compile.compile_s > 0
    assert happened.count("compile") == 1
    assert happened[0] == "compile"
    assert found.processes[0].recompiled == ()


@pytest.mark.gpu
def test_on_a_gpu_every_framework_waits_for_its_device():
    if not torch.cuda.is_available():
        pytest.skip("PyTorch sees no GPU")
    if jax.default_backend() != "gpu":
        pytest.skip("JAX sees no GPU")
    record = measured(
        ("jax", "jax", lambda a: a @ a),
        ("torch", "torch", lambda a: a @ a),
        inputs={"a": normal(2048, 2048)},
        devices=("gpu",),
        columns=True,
        tolerance=1e-2,
    )
    for found in record.rows:
        assert found.failure == ""
        assert found.agrees
        assert isinstance(found.device_s, float)
        assert found.device_s > 0
        assert isinstance(found.peak_bytes, int)
        assert found.peak_bytes >= 2048 * 2048 * 4
