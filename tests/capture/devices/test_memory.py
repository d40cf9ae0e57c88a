"""The memory of programs, against XLA's own buffer assignment."""

from __future__ import annotations

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxscope.capture.devices import memory as module
from jaxscope.capture.devices.memory import fits, free_bytes, memory
from jaxscope.model import Memory, Unavailable


def fields(data: bytes):
    """(number, value) of a protobuf message: ints for varints, bytes for what has a length."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(data):
        number, wire = divmod(varint(), 8)
        if wire == 0:
            yield number, varint()
        else:
            size = {1: 8, 5: 4}[wire] if wire != 2 else varint()
            yield number, data[at : at + size]
            at += size


def allocations(compiled) -> list[dict[str, int]]:
    """`BufferAllocationProto` of xla/service/hlo.proto: 2 size, 3 thread-local, 5 entry parameter,
    7 maybe live out, 12 constant."""
    names = {2: "size", 3: "thread_local", 5: "parameter", 7: "live_out", 12: "constant"}
    proto = compiled.memory_analysis().serialized_buffer_assignment_proto
    found = []
    for number, value in fields(proto):
        if number == 3:
            message = {names[n]: v for n, v in fields(value) if n in names}
            found.append(message)
    return found


N = 300
X = jnp.ones((N, N))


def scan(x):
    return jax.lax.scan(lambda c, row: (c @ x + row, c.sum()), x, x)


def loop(x):
    return jax.lax.while_loop(lambda s: s[1] < 5, lambda s: (s[0] @ s[0], s[1] + 1), (x, 0))[0]


def loss(w, x):
    return (jnp.tanh(x @ w) ** 2).sum()


def temporaries(x):
    return (jnp.sort(x @ x, axis=0) @ jnp.sort(x, axis=1)).sum(0)


def constants(x):
    return x @ np.arange(N * N, dtype=np.float32).reshape(N, N)


PROGRAMS = {
    "scan": (jax.jit(scan), (X,)),
    "while": (jax.jit(loop), (X,)),
    "gradient": (jax.jit(jax.value_and_grad(loss)), (X, X)),
    "temporaries": (jax.jit(temporaries), (X,)),
    "constants": (jax.jit(constants), (X,)),
    "donation": (jax.jit(lambda x: x + 1, donate_argnums=0), (X,)),
    "donation beside": (jax.jit(lambda x, y: (x @ y, y * 2), donate_argnums=0), (X, X)),
    "scalars": (jax.jit(lambda x: x * 2), (1.0,)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_peak_is_the_sum_of_xlas_buffer_assignment(name):
    f, args = PROGRAMS[name]
    compiled = f.lower(*args).compile()
    found = memory(compiled)
    assert isinstance(found, Memory)
    buffers = [
        a for a in allocations(compiled) if not a.get("constant") and not a.get("thread_local")
    ]
    assert found.peak == sum(a.get("size", 0) for a in buffers)
    assert found.argument == sum(a.get("size", 0) for a in buffers if a.get("parameter"))
    assert found.argument == sum(np.asarray(a).astype(np.float32).nbytes for a in args)


def test_donation_counts_the_shared_bytes_once():
    found = memory(PROGRAMS["donation"][0].lower(X).compile())
    assert isinstance(found, Memory)
    assert found.alias == found.output == found.peak == X.nbytes


def test_temporaries_are_part_of_the_peak():
    found = memory(PROGRAMS["temporaries"][0].lower(X).compile())
    assert isinstance(found, Memory)
    assert found.temp >= 2 * X.nbytes
    assert found.peak == found.argument + found.output + found.temp


@pytest.mark.parametrize("answer", [lambda: None, lambda: (_ for _ in ()).throw(RuntimeError("x"))])
def test_a_backend_that_does_not_tell_is_unavailable(answer):
    found = memory(SimpleNamespace(memory_analysis=answer))
    assert isinstance(found, Unavailable)
    assert "does not report the memory" in found.reason


def device(platform="gpu", **stats):
    return SimpleNamespace(platform=platform, id=0, memory_stats=lambda: stats or None)


NEEDS = Memory(argument=10_000, output=2_000, temp=5_000, alias=1_000, peak=16_000)


def test_what_does_not_fit_is_a_sentence_with_both_figures():
    said = fits(NEEDS, device(bytes_limit=20_000, bytes_in_use=14_001))
    assert said == (
        "The program was not run: it needs 6 kB besides its inputs, but gpu:0 has 6 kB free. "
        "Make its arrays smaller, free others, or donate inputs with `-d`."
    )


def test_what_just_fits_runs():
    assert fits(NEEDS, device(bytes_limit=20_000, bytes_in_use=14_000)) is None


def test_a_device_that_does_not_say_is_not_in_the_way():
    assert fits(NEEDS, device()) is None


def test_this_machine_says_how_much_memory_is_free():
    free = free_bytes(jax.devices("cpu")[0])
    assert free is None or free > 1_000_000


def test_the_free_memory_of_a_cpu_is_what_system_and_container_leave(tmp_path, monkeypatch):
    meminfo = tmp_path / "meminfo"
    meminfo.write_text("MemTotal: 9000 kB\nMemAvailable: 4000 kB\n")
    monkeypatch.setattr(module, "_MEMINFO", meminfo)
    monkeypatch.setattr(module, "_CGROUP", tmp_path)
    cpu = device("cpu")
    assert free_bytes(cpu) == 4000 * 1024
    (tmp_path / "memory.max").write_text("max\n")
    (tmp_path / "memory.current").write_text("500\n")
    assert free_bytes(cpu) == 4000 * 1024
    (tmp_path / "memory.max").write_text("2000\n")
    (tmp_path / "memory.stat").write_text("anon 100\ninactive_file 300\n")
    assert free_bytes(cpu) == 2000 - 500 + 300


def test_the_older_container_limits_are_read_too(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_MEMINFO", tmp_path / "absent")
    monkeypatch.setattr(module, "_CGROUP", tmp_path)
    assert free_bytes(device("cpu")) is None
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory/memory.limit_in_bytes").write_text(f"{(1 << 63) - 4096}\n")
    (tmp_path / "memory/memory.usage_in_bytes").write_text("500\n")
    assert free_bytes(device("cpu")) is None
    (tmp_path / "memory/memory.limit_in_bytes").write_text("2000\n")
    assert free_bytes(device("cpu")) == 1500
