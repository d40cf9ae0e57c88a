"""Which inputs could be donated, from hand-written signatures."""

from __future__ import annotations

from jaxscope.analysis.memory.donations import donations
from jaxscope.model import Program, Value, ValueKind


def value(name: str, aval: str, size: int = 16, **also: str) -> Value:
    kind = ValueKind(also.get("kind", "traced"))
    where = also.get("sharding", "cpu:0")
    return Value(name, kind, aval, size, where, reason=also.get("reason", ""))


def pairs(inputs: tuple[Value, ...], outputs: tuple[Value, ...]) -> list[tuple[str, str, int]]:
    program = Program("f", ("jit",), ("cpu:0",), inputs, outputs, constants=(), equations=())
    return [(row.input, row.output, row.bytes) for row in donations(program)]


W, B, X = value("w", "float32[4]"), value("b", "float32[2]", 8), value("x", "float32[9]", 36)


def test_an_input_fits_a_result_of_its_type_the_largest_first() -> None:
    outputs = (value("Out[0]", "float32[2]", 8), value("Out[1]", "float32[4]"))
    assert pairs((B, W, X), outputs) == [("w", "Out[1]", 16), ("b", "Out[0]", 8)]


def test_each_result_is_taken_once_and_its_namesake_comes_first() -> None:
    other = value("v", "float32[4]")
    assert pairs((other, W), (value("w", "float32[4]"),)) == [("w", "w", 16)]


def test_a_donated_input_takes_its_result_from_the_others() -> None:
    given = value("d", "float32[4]", kind="donated")
    assert pairs((given, W), (value("Out", "float32[4]"),)) == []
    twice = (value("Out[0]", "float32[4]"), value("Out[1]", "float32[4]"))
    assert pairs((given, W), twice) == [("w", "Out[1]", 16)]


def test_other_devices_statics_and_numpy_arrays_do_not_count() -> None:
    out = (value("Out", "float32[4]"),)
    assert pairs((value("w", "float32[4]", sharding="cpu:1"),), out) == []
    assert pairs((value("w", "float32[4]", kind="static"),), out) == []
    assert pairs((value("w", "float32[4]", reason="NumPy array"),), out) == []
