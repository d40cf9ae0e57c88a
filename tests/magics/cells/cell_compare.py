"""Compare two frozen sessions, and say which documented difference each mismatch could be."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tests.magics.cells.cell_case import Difference
from tests.magics.cells.cell_snapshot import Node

NARROW = {"float64": "float32", "complex128": "complex64", "int64": "int32", "uint64": "uint32"}
# XLA may fuse and reorder what plain Python runs one operation at a time: the last bits differ.
TOLERANCE = {"float64": 1e-9, "complex128": 1e-9, "float16": 2e-3, "bfloat16": 2e-2}


@dataclass(frozen=True, slots=True)
class Mismatch:
    path: str
    sort: str
    """missing, extra, tracer, kind, type, dtype, value, order, identity, stdout"""
    text: str
    differences: frozenset[Difference] = frozenset()
    """The rows of the table that would allow it, if the file names one of them."""


@dataclass(slots=True)
class Pairing:
    """Which object of one session is which object of the other, over all snapshots of both.

    Two names share an object in one session exactly if they do in the other, and an object stays
    itself from run to run in both or in neither: that is, the pairing is one to one.
    """

    ours: dict[int, int] = field(default_factory=dict)
    plain: dict[int, int] = field(default_factory=dict)

    def admits(self, plain: Node, ours: Node) -> bool:
        if plain.identity is None or ours.identity is None:
            return True
        first = self.ours.setdefault(plain.identity, ours.identity)
        second = self.plain.setdefault(ours.identity, plain.identity)
        return first == ours.identity and second == plain.identity


@dataclass(slots=True)
class SameObjects(Pairing):
    """For two snapshots of one session: an object must be the very same."""

    def admits(self, plain: Node, ours: Node) -> bool:
        return plain.identity == ours.identity


def compare_names(
    plain: dict[str, Node], ours: dict[str, Node], pairing: Pairing
) -> Iterator[Mismatch]:
    for name in sorted(plain.keys() | ours.keys()):
        if name not in ours:
            yield Mismatch(name, "missing", f"plain Python has {plain[name].type}")
        elif name not in plain:
            yield Mismatch(
                name, "extra", f"plain Python has no such name; ours is {ours[name].type}"
            )
        else:
            yield from compare(plain[name], ours[name], name, pairing)


def compare(plain: Node, ours: Node, path: str, pairing: Pairing) -> Iterator[Mismatch]:
    if ours.kind == "tracer" != plain.kind:
        yield Mismatch(path, "tracer", f"a tracer was left behind: {ours.value}")
    elif {plain.kind, ours.kind} == {"object", "again"}:
        first, second = ("new", "shared") if plain.kind == "object" else ("shared", "new")
        yield Mismatch(path, "identity", f"{first} object in plain Python, {second} in ours")
    elif narrowed(plain.value, ours.value):
        text = f"{plain.value} in plain Python, {ours.value} in ours"
        yield Mismatch(path, "dtype", text, narrowed(plain.value, ours.value))
    elif plain.kind != ours.kind or plain.type != ours.type:
        yield from compare_kinds(plain, ours, path, pairing)
    elif not pairing.admits(plain, ours):
        text = "plain Python keeps or shares this object with another name or run, or we do"
        yield Mismatch(path, "identity", f"{text}: {ours.type}")
    elif plain.kind in ("numpy", "array", "numpy scalar"):
        yield from compare_arrays(plain, ours, path)
    elif plain.value != ours.value and not equal_floats(plain.value, ours.value):
        text = f"{plain.value!r} in plain Python, {ours.value!r} in ours"
        seen = {Difference.TRACED_TYPE_SEEN} if plain.kind == "scalar" else set[Difference]()
        yield Mismatch(path, "value", text, frozenset(seen))
    elif [label for label, _ in plain.children] != [label for label, _ in ours.children]:
        theirs, mine = ([label for label, _ in n.children] for n in (plain, ours))
        sort = "order" if sorted(theirs) == sorted(mine) else "value"
        yield Mismatch(path, sort, f"{theirs} in plain Python, {mine} in ours")
    else:
        for (label, one), (_, other) in zip(plain.children, ours.children, strict=True):
            yield from compare(one, other, path + label, pairing)


def compare_kinds(plain: Node, ours: Node, path: str, pairing: Pairing) -> Iterator[Mismatch]:
    """Two things of different kinds: an array in place of a number, or a real disagreement."""
    if plain.kind == ours.kind == "object" and is_jitted(ours) and not is_jitted(plain):
        text = "a function in plain Python, a jitted function in ours"
        yield Mismatch(path, "type", text, frozenset({Difference.ENTRY_POINT_BECOMES_JITTED}))
        yield from compare(plain, ours.children[0][1], f"{path}.__wrapped__", pairing)
        return
    text = f"{plain.type} ({plain.value!r}) in plain Python, {ours.type} ({ours.value!r}) in ours"
    allowed: frozenset[Difference] = frozenset()
    if ours.kind == "deleted":
        allowed = frozenset({Difference.DONATED_IS_GONE})
    elif ours.kind == "array" and plain.kind in ("scalar", "numpy", "numpy scalar"):
        allowed = array_for(plain, ours)
    yield Mismatch(path, "type", text, allowed)


def is_jitted(node: Node) -> bool:
    return isinstance(node.value, str) and node.value == "jitted"


def array_for(plain: Node, ours: Node) -> frozenset[Difference]:
    """Which rows allow our JAX array where plain Python has a number or a NumPy array."""
    if plain.kind == "scalar" and not isinstance(plain.value, (bool, int, float, complex)):
        return frozenset()
    rows = {Difference.NUMPY_RULES} if plain.kind != "scalar" else set[Difference]()
    expected = np.asarray(plain.value)
    dtype = dict(ours.children)["dtype"].value
    widths = {str(expected.dtype), NARROW.get(str(expected.dtype), str(expected.dtype))}
    if (
        expected.shape == ours.value.shape
        and dtype in widths
        and close(expected, ours.value, dtype)
    ):
        rows.add(Difference.ARGUMENT_BECOMES_ARRAY)
        scalar = plain.kind == "scalar"
        rows.add(Difference.FLOAT_BECOMES_ARRAY if scalar else Difference.NUMPY_BECOMES_ARRAY)
    return frozenset(rows)


def compare_arrays(plain: Node, ours: Node, path: str) -> Iterator[Mismatch]:
    one, other = np.asarray(plain.value), np.asarray(ours.value)
    for (label, a), (_, b) in zip(plain.children, ours.children, strict=False):
        if a.value != b.value:
            allowed = frozenset[Difference]()
            if NARROW.get(b.value) == a.value and close(one, other, str(a.value)):
                allowed = frozenset({Difference.X64_WIDENS})
            text = f"{label} {a.value} in plain Python, {b.value} in ours"
            yield Mismatch(path, "dtype", text, allowed)
    if str(one.dtype) != str(other.dtype) and not plain.children:
        yield Mismatch(path, "dtype", f"{one.dtype} in plain Python, {other.dtype} in ours")
    if one.shape != other.shape:
        yield Mismatch(path, "value", f"shape {one.shape} in plain Python, {other.shape} in ours")
    elif not close(one, other, str(other.dtype)):
        yield Mismatch(path, "value", f"{one!r} in plain Python, {other!r} in ours")


def close(one: np.ndarray, other: np.ndarray, dtype: str) -> bool:
    if one.shape != other.shape:
        return False
    if not any(a.dtype.kind in "fc" or a.dtype.name in TOLERANCE for a in (one, other)):
        return bool(np.array_equal(one, other))
    wide = [a.astype(np.complex128 if a.dtype.kind == "c" else np.float64) for a in (one, other)]
    limit = TOLERANCE.get(dtype, 2e-5)
    return bool(np.allclose(*wide, rtol=limit, atol=limit / 10, equal_nan=True))


def equal_floats(one: Any, other: Any) -> bool:
    numbers = (float, complex)
    if not (isinstance(one, numbers) and isinstance(other, numbers)):
        return False
    return close(np.asarray(one), np.asarray(other), "float32")


def narrowed(one: Any, other: Any) -> frozenset[Difference]:
    """A dtype that the cell itself looked at: NumPy's in plain Python, JAX's while it is traced."""
    if isinstance(one, np.dtype) and NARROW.get(str(one)) == str(other):
        return frozenset({Difference.NUMPY_BECOMES_ARRAY})
    return frozenset()


def compare_text(plain: str, ours: str, path: str = "stdout") -> Iterator[Mismatch]:
    if plain == ours:
        return
    allowed: set[Difference] = set()
    lines = Counter(plain.splitlines()), Counter(ours.splitlines())
    if lines[0] == lines[1]:
        allowed.add(Difference.PRINT_ORDER)
    if any("Tracer" in line for line in lines[1]):
        allowed.add(Difference.PRINT_SHOWS_TRACER)
    first = next(
        (a, b) for a, b in itertools.zip_longest(plain.splitlines(), ours.splitlines()) if a != b
    )
    yield Mismatch(
        path, "stdout", f"{first[0]!r} in plain Python, {first[1]!r} in ours", frozenset(allowed)
    )
