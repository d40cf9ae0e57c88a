"""Finding devices, and simulating CPU devices before any backend is up."""

from __future__ import annotations

import json
import subprocess
import sys

import jax
import pytest

from jaxscope.capture.devices.devices import DeviceError, devices, find, simulate_cpu


def in_a_fresh_process(code: str):
    prelude = (
        "import json\nfrom jaxscope.capture import _jax\n"
        "from jaxscope.capture.devices.devices import *\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", prelude + code], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_every_device_has_the_name_that_finds_it():
    found = devices()
    assert found
    for device in found:
        live = find(device.name)
        assert (live.platform, live.process_index) == (device.platform, device.process)
        assert live.device_kind == device.kind
    assert len({d.name for d in found}) == len(found)
    assert find(found[0].name) is jax.local_devices()[0]


def test_a_platform_alone_is_its_first_device():
    assert find("cpu") is jax.local_devices(backend="cpu")[0]
    assert find(" CPU:0 ") is find("cpu")


def test_a_device_that_is_absent_is_an_error_that_lists_what_there_is():
    with pytest.raises(DeviceError, match=r"There is no device `tpu:3` here. JAX has .*cpu:0"):
        find("tpu:3")


def test_a_cpu_that_is_absent_is_an_error_that_says_how_to_get_it():
    with pytest.raises(DeviceError, match=r"`cpu:63` here.*%jaxdevices --cpu 64.*count=64"):
        find("cpu:63")


@pytest.mark.parametrize("text", ["", "cpu:x", "cpu:-1", "0", "cpu 1"])
def test_what_is_no_device_name_is_said(text):
    with pytest.raises(DeviceError, match=r"is not a device name\. Write a platform"):
        find(text)


def test_cpu_devices_are_simulated_without_starting_a_backend():
    before, after, names, second = in_a_fresh_process("""
before = _jax.backends_started()
simulate_cpu(3)
after = _jax.backends_started()
names = [d.name for d in devices() if d.platform == "cpu"]
print(json.dumps([before, after, names, find("cpu:2").id]))
""")
    assert (before, after, names, second) == (False, False, ["cpu:0", "cpu:1", "cpu:2"], 2)


def test_once_a_backend_is_up_it_is_too_late():
    here = len(jax.local_devices(backend="cpu"))
    with pytest.raises(DeviceError) as caught:
        simulate_cpu(here + 1)
    said = str(caught.value)
    assert said.startswith(f"JAX is already running with {here} CPU device")
    assert f"restart the kernel and run `%jaxdevices --cpu {here + 1}`" in said


def test_asking_for_what_is_there_is_no_error():
    simulate_cpu(len(jax.local_devices(backend="cpu")))


def test_no_device_at_all_cannot_be_simulated():
    with pytest.raises(DeviceError, match="0 CPU devices cannot be simulated; request 1 or more"):
        simulate_cpu(0)
