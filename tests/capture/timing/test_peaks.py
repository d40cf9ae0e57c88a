"""Measured peaks and the cache that keeps them."""

from __future__ import annotations

import dataclasses
import gc
import json
import math

import jax
import pytest

from jaxscope.analysis.cost.roofline import Peaks
from jaxscope.capture.compiles.listener import Listener, collecting
from jaxscope.capture.timing import peaks as module
from jaxscope.capture.timing.peaks import (
    PeakCache,
    cache_directory,
    device_key,
    measure_peaks,
    peaks,
)

CPU = jax.devices("cpu")[0]
SOME = Peaks("cpu", 5e10, 1e10, (4e10, 5e10), (8e9, 1e10), when="2026-01-01T00:00:00+00:00")


def test_peaks_are_measured_and_never_show_among_the_users_compiles():
    with Listener() as listener, collecting(listener) as run:
        found = measure_peaks(CPU)
    assert run.raw == []
    assert listener.compile_count == 0
    for low, high, best in (
        (*found.flops_spread, found.flops),
        (*found.bytes_spread, found.bytes_per_s),
    ):
        assert 0 < low <= high == best < math.inf
    assert found.device == "cpu"
    assert gc.isenabled()


def test_a_slow_clock_ends_the_measurement_early():
    class SlowClock:
        time = 0.0

        def now(self):
            self.time += 0.3  # every look at the clock is 0.3 s later
            return self.time

    found = measure_peaks(CPU, now=SlowClock().now)
    # Each repetition seems to take 0.3 s: two of the smallest product, no larger one.
    assert found.flops == pytest.approx(2 * 256**3 / 0.3)


def test_memory_leaves_time_for_a_larger_product(monkeypatch):
    monkeypatch.setattr(module, "_SIZES", (64, 128, 256))

    class SteadyClock:
        time = 0.0

        def now(self):
            self.time += 0.002
            return self.time

    found = measure_peaks(CPU, now=SteadyClock().now)
    # Every repetition seems to take 2 ms, so the largest product that is tried is the fastest.
    assert found.flops == pytest.approx(2 * 256**3 / 0.002)
    assert found.settled


def test_runs_that_differ_take_as_much_time_again():
    class Disturbed:
        """Each run takes longer than the one before."""

        def __init__(self):
            self.time, self.looks = 0.0, 0

        def now(self):
            self.looks += 1
            self.time += 1e-3 * 1.2 ** (self.looks % 40)
            return self.time

    clock = Disturbed()
    found = measure_peaks(CPU, now=clock.now)
    assert not found.settled
    assert clock.time > 1.0
    assert found.flops_spread[0] < found.flops


def test_disturbed_peaks_are_measured_again_by_the_next_process_and_the_best_remain(
    tmp_path, monkeypatch
):
    low = dataclasses.replace(SOME, flops=4.5e10, flops_spread=(1e10, 4.5e10), settled=False)
    better = dataclasses.replace(SOME, bytes_per_s=9e9, bytes_spread=(8e9, 9e9))
    answers = [low, better]
    monkeypatch.setattr(module, "measure_peaks", lambda *_: answers.pop(0))
    path = tmp_path / "peaks.json"
    first = PeakCache(path)
    assert peaks(CPU, first) == low
    assert peaks(CPU, first) == low  # once per process
    second = PeakCache(path)
    assert peaks(CPU, second) == SOME
    assert peaks(CPU, PeakCache(path)) == SOME
    assert answers == []


def test_measured_once_then_remembered_by_process_and_disk(tmp_path, monkeypatch):
    calls = []

    def measured(device, dtype):
        calls.append(device)
        return SOME

    monkeypatch.setattr(module, "measure_peaks", measured)
    path = tmp_path / "deep" / "peaks.json"
    cache = PeakCache(path)
    assert cache.get(CPU) is None
    assert peaks(CPU, cache) == SOME
    assert peaks(CPU, cache) == SOME
    assert PeakCache(path).get(CPU) == SOME
    assert calls == [CPU]
    peaks(CPU, cache, again=True)
    assert calls == [CPU, CPU]


def test_each_dtype_of_the_products_has_its_peaks(tmp_path, monkeypatch):
    half = dataclasses.replace(SOME, flops=9e10, flops_spread=(8e10, 9e10))
    monkeypatch.setattr(
        module, "measure_peaks", lambda device, dtype: {"float32": SOME}.get(dtype, half)
    )
    path = tmp_path / "peaks.json"
    cache = PeakCache(path)
    assert (peaks(CPU, cache), peaks(CPU, cache, "bfloat16")) == (SOME, half)
    assert (PeakCache(path).get(CPU), PeakCache(path).get(CPU, "bfloat16")) == (SOME, half)


def test_runs_of_a_device_with_a_queue_are_waited_for_together(monkeypatch):
    monkeypatch.setattr(module, "_queue", lambda device: 4)
    looks = iter(range(1000))
    product = module._Product(CPU, 64, "bfloat16")
    product.run(lambda: next(looks))
    assert product.rates == [4 * 2 * 64**3]


def test_other_devices_in_the_file_are_kept(tmp_path):
    path = tmp_path / "peaks.json"
    path.write_text(json.dumps({"other | jaxlib 0.1": {"device": "other"}}))
    PeakCache(path).put(CPU, SOME)
    assert set(json.loads(path.read_text())) == {"other | jaxlib 0.1", device_key(CPU)}
    assert [p.name for p in tmp_path.iterdir()] == ["peaks.json"]


@pytest.mark.parametrize("content", ["", "{", "[1]", '"text"', "[" * 100_000, " " * (2 << 20)])
def test_a_spoilt_file_is_measured_anew(tmp_path, content):
    path = tmp_path / "peaks.json"
    path.write_text(content)
    cache = PeakCache(path)
    assert cache.get(CPU) is None
    cache.put(CPU, SOME)
    assert PeakCache(path).get(CPU) == SOME


def test_an_entry_of_another_form_is_measured_anew(tmp_path):
    path = tmp_path / "peaks.json"
    path.write_text(json.dumps({device_key(CPU): {"flops": "many"}}))
    assert PeakCache(path).get(CPU) is None


@pytest.mark.parametrize(
    "wrong",
    [
        {"flops": 0},
        {"flops": -1.0},
        {"flops": None},
        {"flops": 1e999},
        {"flops": 9e10},
        {"bytes_per_s": 0},
        {"flops_spread": [0.0, 5e10]},
        {"flops_spread": [5e10, 4e10]},
        {"bytes_spread": [None, 1e10]},
        {"bytes_spread": [8e9]},
        {"when": 3},
    ],
)
def test_a_value_that_cannot_have_been_measured_is_measured_anew(tmp_path, wrong):
    path = tmp_path / "peaks.json"
    cache = PeakCache(path)
    cache.put(CPU, SOME)
    assert PeakCache(path).get(CPU) == SOME
    stored = json.loads(path.read_text())
    stored[device_key(CPU)] |= wrong
    path.write_text(json.dumps(stored))
    assert PeakCache(path).get(CPU) is None


def test_a_disk_that_cannot_be_written_is_no_error(tmp_path):
    blocker = tmp_path / "file"
    blocker.write_text("not a directory")
    cache = PeakCache(blocker / "peaks.json")
    cache.put(CPU, SOME)
    assert cache.get(CPU) == SOME


def test_the_key_names_the_processor_and_the_version_of_jaxlib():
    import jaxlib

    key = device_key(CPU)
    assert key.endswith(f"| jaxlib {jaxlib.__version__}")
    assert key.startswith("cpu ")
    assert key != "cpu | jaxlib"


def test_the_users_cache_directory_is_respected(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_directory() == tmp_path / "jaxscope"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_directory().name == "jaxscope"
