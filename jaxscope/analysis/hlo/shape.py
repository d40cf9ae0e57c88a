"""The type of an HLO value, parsed from its text."""

import math
import re
from dataclasses import dataclass

from jaxscope.analysis.hlo.attributes import split_top_level

# XLA's primitive types, xla_data.proto. A type below eight bits still takes a whole byte in
# memory unless its layout says otherwise (see `Shape.bytes`).
_BITS = {
    "pred": 8, "s1": 1, "u1": 1, "s2": 2, "u2": 2, "s4": 4, "u4": 4, "s8": 8, "u8": 8,
    "s16": 16, "u16": 16, "s32": 32, "u32": 32, "s64": 64, "u64": 64,
    "f16": 16, "bf16": 16, "f32": 32, "f64": 64, "c64": 64, "c128": 128,
    "f4e2m1fn": 4, "f8e8m0fnu": 8, "f8e3m4": 8, "f8e4m3": 8, "f8e4m3fn": 8, "f8e4m3fnuz": 8,
    "f8e4m3b11fnuz": 8, "f8e5m2": 8, "f8e5m2fnuz": 8,
}  # fmt: skip

_ARRAY = re.compile(r"([a-z]\w*)\[([^\]]*)\](\{.*\})?$")
_PACKED = re.compile(r":(?:[^E]*)E\((\d+)\)")
_COMMENT = re.compile(r"/\*.*?\*/")


@dataclass(frozen=True, slots=True)
class Shape:
    """An array, a tuple of shapes, or a type without data (a token, an opaque handle)."""

    text: str
    """As printed, layout included."""
    dtype: str
    """XLA's name of the element type; `tuple`, `token` or `opaque` where there is none."""
    dims: tuple[int, ...] = ()
    """Sizes; the bound of a dynamic dimension (`<=8`), -1 for an unbounded one (`?`)."""
    layout: str = ""
    """The braces after the sizes, e.g. `{1,0:T(8,128)}`; empty if none is printed."""
    parts: tuple["Shape", ...] = ()
    """The shapes of a tuple, in order; empty for an array."""

    @property
    def is_tuple(self) -> bool:
        return self.dtype == "tuple"

    @property
    def leaves(self) -> tuple["Shape", ...]:
        """The arrays (and tokens) in it, nested tuples flattened."""
        if not self.is_tuple:
            return (self,)
        return tuple(leaf for part in self.parts for leaf in part.leaves)

    @property
    def elements(self) -> int:
        """Number of elements, summed over a tuple; 0 if a size is unbounded."""
        if self.is_tuple:
            return sum(part.elements for part in self.parts)
        if self.dtype not in _BITS:
            return 0
        return max(0, math.prod(self.dims)) if -1 not in self.dims else 0

    @property
    def bytes(self) -> int:
        """Size of the data without the padding of tiles, summed over a tuple.

        A type below eight bits is packed only if the layout says so with `E(bits)`.
        """
        if self.is_tuple:
            return sum(part.bytes for part in self.parts)
        bits = _BITS.get(self.dtype, 0)
        if bits < 8:
            packed = _PACKED.search(self.layout)
            bits = int(packed[1]) if packed else 8
        return -(-self.elements * bits // 8) if self.elements else 0

    @property
    def minor_to_major(self) -> tuple[int, ...]:
        """Dimension numbers, fastest first; row-major where no layout is printed."""
        order = re.match(r"\{([\d,]*)", self.layout)
        if order is None or not order[1]:
            return tuple(reversed(range(len(self.dims))))
        return tuple(int(number) for number in order[1].split(","))


def parse_shape(text: str) -> Shape:
    """Parse a shape such as `(f32[8,128]{1,0:T(8,128)}, /*index=1*/s32[])`.

    An unknown text becomes a shape without data, with the text as dtype: a new type in a later XLA
    costs its sizes, not the module.
    """
    text = _COMMENT.sub("", text).strip()
    if text.startswith("("):
        parts = [parse_shape(part) for part in split_top_level(text[1:-1]) if part.strip()]
        return Shape(text, "tuple", parts=tuple(parts))
    array = _ARRAY.match(text)
    if array is None:
        return Shape(text, text)
    dtype, sizes, layout = array[1], array[2], array[3] or ""
    dims = [size.strip().removeprefix("<=") for size in sizes.split(",")] if sizes.strip() else []
    return Shape(text, dtype, tuple([int(d) if d.isdigit() else -1 for d in dims]), layout)
