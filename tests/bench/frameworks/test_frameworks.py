"""autograd, Numba, TensorFlow, CuPy and MLX: absent, as fakes, and where they are installed."""

from __future__ import annotations

import contextlib
import sys
import types
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from jaxscope.bench import Entry, Plan
from jaxscope.bench.cell.timed_code import TIMED
from jaxscope.bench.frameworks import registry
from jaxscope.bench.frameworks.autograd import Autograd
from jaxscope.bench.frameworks.cupy import CuPy
from jaxscope.bench.frameworks.implementation import Implementation, Task
from jaxscope.bench.frameworks.mlx import Mlx
from jaxscope.bench.frameworks.numba import Numba
from jaxscope.bench.frameworks.tensorflow import TensorFlow, TensorFlowFunction
from jaxscope.bench.measure import compare
from jaxscope.bench.placement import fixed
from tests.bench.side_by_side import FEW, FastSignals, measured, normal, row

CLASSES = (Autograd, Numba, TensorFlow, TensorFlowFunction, CuPy, Mlx)
MODULES = {Mlx: "mlx.core", TensorFlowFunction: "tensorflow"}


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Found by name, whenever this environment was installed."""
    found = registry.find
    made = {made.name: made for made in CLASSES}
    monkeypatch.setattr(
        registry, "find", lambda name, known: made[name]() if name in made else found(name, known)
    )


def module(name: str, **members: Any) -> types.ModuleType:
    made = types.ModuleType(name)
    vars(made).update(members)
    return made


@pytest.mark.parametrize("kind", CLASSES)
def test_an_absent_one_is_a_row_with_the_reason(
    kind: type[Implementation], monkeypatch: pytest.MonkeyPatch
) -> None:
    name = MODULES.get(kind, kind.name)
    for part in (name, name.partition(".")[0]):
        monkeypatch.setitem(sys.modules, part, None)
    why = kind().missing()
    assert f" is not installed here: `pip install {name.partition('.')[0]}" in why
    record = measured((kind.name, kind.name, np.sum), ("numpy", "numpy", np.sum))
    assert row(record, kind.name).failure == why
    assert len(row(record, "numpy").samples) == 8


def test_a_broken_installation_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        def find_spec(self, name: str, *_: Any) -> None:
            if name == "numba":
                raise RuntimeError("Numba needs NumPy 2.3 or less")

    monkeypatch.delitem(sys.modules, "numba", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Broken(), *sys.meta_path])
    expected = "Numba cannot be imported here: RuntimeError: Numba needs NumPy 2.3 or less."
    assert Numba().missing() == expected


class NumbaError(Exception):
    pass


@pytest.fixture
def numba(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A Numba that compiles functions without an `a.nothing`."""
    seen: dict[str, Any] = {"compiled": []}

    class Jitted:
        def __init__(self, function: Any, **options: Any) -> None:
            self.function, self.signatures = function, seen["compiled"]
            seen["options"] = options

        def compile(self, types: Any) -> None:
            if "nothing" in self.function.__code__.co_names:
                raise NumbaError(
                    "Failed in nopython mode pipeline (step: type inference)\n"
                    "Unknown attribute 'nothing' of type array(float32, 1d, C)\n\nFile \"x.py\""
                )
            self.signatures.append(types)

        def __call__(self, *args: Any) -> Any:
            return self.function(*args)

    errors = module("numba.core.errors", NumbaError=NumbaError)
    fake = module(
        "numba",
        __version__="0.0",
        njit=Jitted,
        typeof=lambda array: str(array.dtype),
        core=module("numba.core", errors=errors),
    )
    monkeypatch.setitem(sys.modules, "numba", fake)
    return seen


def total(a: Any) -> Any:
    found = np.float32(0)
    for value in a:
        found += value
    return found


def test_numba_compiles_for_the_types_before_the_first_call(numba: dict[str, Any]) -> None:
    record = measured(
        ("numba", "numba", total, {"fastmath": True}),
        ("bad", "numba", lambda a: a.nothing()),
        ("numpy", "numpy", np.sum),
        inputs={"a": normal(50)},
    )
    found = row(record, "numba")
    assert found.failure == ""
    assert found.agrees
    assert numba["compiled"] == [("float32",)]
    assert found.compile.compile_s > 0
    assert row(record, "bad").failure == (
        "Numba cannot compile it: Unknown attribute 'nothing' of type array(float32, 1d, C)."
    )


def test_numba_refuses_a_shared_source_gradients_and_batches(numba: dict[str, Any]) -> None:
    entry = Entry("numba", "numba", lambda xp, x: xp.sum(x), True)
    record = compare(Plan((entry,), lambda size: {"x": normal(3)}, limits=FEW), FastSignals())
    assert "give it a section, `# numba`" in row(record, "numba").failure
    record = measured(("numba", "numba", total), inputs={"a": normal(3)}, grad=(0,), check=False)
    assert row(record, "numba").failure == (
        "Numba has no gradients: write that function in the section."
    )


@pytest.fixture
def cupy(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A CuPy of three GPUs of two kinds, on the CPU."""
    seen: list[str] = []

    class Device:
        def __init__(self, number: int) -> None:
            self.number = number

        def __enter__(self) -> Device:
            seen.append(f"in {self.number}")
            return self

        def __exit__(self, *_: object) -> None:
            seen.append(f"out {self.number}")

        def synchronize(self) -> None:
            seen.append(f"wait {self.number}")

    runtime = module(
        "runtime",
        getDeviceCount=lambda: 3,
        getDeviceProperties=lambda number: {"name": (b"H100", b"H100", b"A10")[number]},
        CUDARuntimeError=OSError,
    )
    fake = module("cupy", __version__="0.0", asarray=np.asarray, asnumpy=np.asarray)
    vars(fake)["cuda"] = module("cuda", Device=Device, runtime=runtime)
    monkeypatch.setitem(sys.modules, "cupy", fake)
    return seen


def test_cupy_runs_on_one_gpu_of_each_kind_and_waits_for_it(cupy: list[str]) -> None:
    record = measured(("cupy", "cupy", np.sum), ("numpy", "numpy", np.sum))
    found = [one for one in record.rows if one.label == "cupy"]
    assert [(one.device, one.failure, one.agrees) for one in found] == [
        ("gpu:0", "", True),
        ("gpu:2", "", True),
    ]
    assert [CuPy().sees(device) for device in ("gpu:1", "gpu:3", "cpu:0")] == [True, False, False]
    for number in (0, 2):
        assert cupy.count(f"wait {number}") > 8
        assert cupy.count(f"in {number}") == cupy.count(f"out {number}")


def test_cupy_without_a_gpu_says_so(cupy: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> int:
        raise OSError("no driver")

    monkeypatch.setattr(sys.modules["cupy"].cuda.runtime, "getDeviceCount", none)
    assert CuPy().missing() == "CuPy finds no GPU here."


def test_every_call_of_mlx_is_evaluated(monkeypatch: pytest.MonkeyPatch) -> None:
    evaluated: list[Any] = []

    @contextlib.contextmanager
    def stream(device: str) -> Iterator[None]:
        yield

    fake = module("mlx.core", eval=evaluated.append, array=np.ndarray, stream=stream, cpu="cpu")
    monkeypatch.setitem(sys.modules, "mlx", module("mlx", core=fake))
    monkeypatch.setitem(sys.modules, "mlx.core", fake)
    vars(fake).update(grad=None, vmap=None)
    with Mlx().context(Task("mlx", np.sum), "cpu:0"):
        call = Mlx().prepare(Task("mlx", np.sum), (), "cpu:0").call
        assert [call(np.ones(3)), call(np.ones(4))] == [3, 4]
    assert evaluated == [3, 4]


def shared(xp: Any, x: Any) -> Any:
    return xp.sum(xp.tanh(x) * 2, axis=-1)


def slope(xp: Any, w: Any, x: Any) -> Any:
    return xp.sum(xp.tanh(x * w) ** 2)


@pytest.mark.parametrize("kind", [one for one in CLASSES if one not in (Numba, CuPy)])
def test_where_it_is_installed_it_agrees_with_jax(kind: type[Implementation]) -> None:
    pytest.importorskip(MODULES.get(kind, kind.name))
    entries = tuple(Entry(name, name, shared, True) for name in ("jax", kind.name))
    record = compare(Plan(entries, lambda size: {"x": normal(6, 5)}, limits=FEW), FastSignals())
    assert (row(record, kind.name).failure, row(record, kind.name).agrees) == ("", True)
    assert dict(record.versions)[MODULES.get(kind, kind.name).partition(".")[0]]

    entries = tuple(Entry(name, name, slope, True) for name in ("jax", kind.name))
    inputs = {"w": normal(4), "x": normal(3, 4)}
    record = compare(Plan(entries, lambda size: inputs, limits=FEW, grad=(0,)), FastSignals())
    assert (row(record, kind.name).failure, row(record, kind.name).agrees) == ("", True)

    plan = Plan(entries, lambda size: inputs, limits=FEW, grad=(0, 1), vmap=(None, 0))
    found = row(compare(plan, FastSignals()), kind.name)
    if kind is Autograd:
        assert found.failure == "HIPS autograd has no vmap."
    else:
        assert (found.failure, found.agrees) == ("", True)


def test_where_numba_is_installed_it_compiles_a_loop() -> None:
    pytest.importorskip("numba")
    inputs = {"a": normal(1000)}
    record = measured(("numba", "numba", total), ("numpy", "numpy", np.sum), inputs=inputs)
    assert (row(record, "numba").failure, row(record, "numba").agrees) == ("", True)


def test_autograph_converts_functions_and_leaves_the_timed_code_of_cells_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[bool] = []

    def function(call: Any, autograph: bool) -> Any:
        seen.append(autograph)
        call.get_concrete_function = lambda *args: None
        call.experimental_get_tracing_count = lambda: 1
        return call

    monkeypatch.setitem(sys.modules, "tensorflow", module("tensorflow", function=function))
    timed: Any = types.FunctionType(total.__code__, globals(), TIMED)
    cells = (timed, fixed(timed, {"x": np.ones(2), "n": 3}), fixed(timed, {"x": np.ones(2)}, np))
    for one in (total, lambda a: total(a), *cells):
        TensorFlowFunction().prepare(Task("tf-function", one), (), "cpu:0")
    assert seen == [True, True, False, False, False]


def test_tensorflow_maps_the_first_axis_only() -> None:
    pytest.importorskip("tensorflow")
    inputs = {"x": normal(3, 4)}
    record = measured(("t", "tensorflow", lambda x: x), inputs=inputs, vmap=(1,), check=False)
    assert row(record, "t").failure == "TensorFlow's vectorized_map maps the first axis only."
