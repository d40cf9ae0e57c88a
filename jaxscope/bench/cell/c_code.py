"""A section in C: the parameters of its function, and the wrapper that passes the inputs.

Parameters are matched by name. A pointer named like an input gets that input, an integer named like
a size gets the size. Any other pointer is a result, whose shape is given by a comment:
`// y: like x` or `// y: float32(n, n)`. A function that returns a number needs none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jaxscope import words
from jaxscope.bench.cell.sections import CellError, CellSection

SYMBOL = "jaxscope_run"
"""The wrapper that takes inputs, results and sizes in the order in which they are bound."""

_FUNCTION = re.compile(
    r"^[ \t]*(?:extern[ \t]+)?(?P<returns>void|double|float|long|int)[ \t]+(?P<name>[A-Za-z_]\w*)"
    r"[ \t]*\((?P<parameters>[^)]*)\)\s*\{",
    re.M,
)
_PARAMETER = re.compile(
    r"\s*(?:const\s+)?(?P<type>(?:unsigned\s+)?[A-Za-z_]\w*(?:\s+(?:long|int))?)\s*(?:const\s*)?"
    r"(?P<pointer>\*?)\s*(?:const\s+|(?:__)?restrict(?:__)?\s+)*(?P<name>[A-Za-z_]\w*)"
    r"\s*(?P<array>\[[^\]]*\])?\s*"
)
_RESULT = re.compile(
    r"//\s*(?P<name>[A-Za-z_]\w*)\s*:\s*"
    r"(?:like\s+(?P<like>[A-Za-z_]\w*)|(?P<dtype>\w+)\s*\((?P<shape>.*)\))\s*$",
    re.M,
)
_DTYPES = {
    "float": ("float32",),
    "double": ("float64",),
    "int": ("int32",),
    "int32_t": ("int32",),
    "long": ("int64",),
    "int64_t": ("int64",),
    "char": ("int8", "bool"),
    "_Bool": ("bool",),
    "void": (),
}
_VALUE = "_returned"
_INTEGERS = frozenset({"int", "long", "long long", "size_t", "int32_t", "int64_t", "unsigned int"})
_RETURNED = {"double": "float64", "float": "float32", "long": "int64", "int": "int32"}


@dataclass(frozen=True, slots=True)
class CParameter:
    """One parameter of the section's function."""

    name: str
    type: str
    pointer: bool


@dataclass(frozen=True, slots=True)
class CFunction:
    """The function of a C section, with the shapes of its results."""

    name: str
    returns: str
    parameters: tuple[CParameter, ...]
    results: tuple[tuple[str, str, str, str], ...]
    """(name, the input it is `like`, dtype, shape as typed) of each result."""
    line: int

    def text(self, source: str, inputs: Sequence[str]) -> str:
        """The source, followed by the wrapper."""
        pointers = [*inputs, *(name for name, *_ in self.results)]
        if self.returns != "void":
            pointers.append(_VALUE)
        sizes = [one for one in self.parameters if not one.pointer]
        taken = ", ".join(
            [
                *(f"void *{_own(name)}" for name in pointers),
                *(f"long {_own(one.name)}" for one in sizes),
            ]
        )
        handed = ", ".join(
            f"({one.type} *){_own(one.name)}" if one.pointer else f"({one.type}){_own(one.name)}"
            for one in self.parameters
        )
        back = f"*({self.returns} *){_own(_VALUE)} = " if self.returns != "void" else ""
        call = f"void {SYMBOL}({taken or 'void'}) {{ {back}{self.name}({handed}); }}"
        # Leading line breaks are kept, so that the compiler counts lines as the cell does.
        return f"{source.rstrip(chr(10))}\n\n{call}\n"


def c_function(section: CellSection, inputs: Sequence[str], numbers: Sequence[str]) -> CFunction:
    """Parse the section. Raises CellError for a parameter that cannot be bound."""
    found = list(_FUNCTION.finditer(section.text))
    if not found:
        raise CellError(
            f"The C section on line {section.line} defines no function. Write one whose parameters "
            "are named like the inputs, such as `double f(const float *x, long n) { … }`.",
            section.line,
        )
    match = next((one for one in found if one["name"] == "run"), found[-1])
    line = section.text.count("\n", 0, match.start("name")) + 1
    parameters = tuple(_parameters(match["parameters"], line))
    there = f"{'is' if len(numbers) == 1 else 'are'} {words.names(numbers, 0) or 'none'}"
    shapes = {one["name"]: one for one in _RESULT.finditer(section.text)}
    results: list[tuple[str, str, str, str]] = []
    for one in parameters:
        if one.pointer and one.name not in inputs:
            shape = shapes.get(one.name)
            if shape is None:
                raise CellError(
                    f"Line {line}: `{one.name}` is not an input but a result, so it needs a shape. "
                    f"Add a comment: `// {one.name}: like x` or `// {one.name}: float32(n)`.",
                    line,
                )
            results.append(
                (one.name, shape["like"] or "", shape["dtype"] or "", shape["shape"] or "")
            )
        if not one.pointer and one.name not in numbers:
            raise CellError(
                f"Line {line}: the C function needs an integer `{one.name}`, which is not defined: "
                f"there {there}. Write `{one.name}=1000` or `--sizes {one.name}=1000` on "
                "the first line.",
                line,
            )
    if match["returns"] == "void" and not results:
        raise CellError(
            f"Line {line}: the C function has no result. Return a number, or add a pointer "
            "parameter for the result, with a comment such as `// y: like x`.",
            line,
        )
    return CFunction(match["name"], match["returns"], parameters, tuple(results), line)


def _parameters(text: str, line: int) -> Iterator[CParameter]:
    for part in text.split(","):
        if part.strip() in ("", "void"):
            continue
        match = _PARAMETER.fullmatch(part)
        if match is None:
            raise CellError(
                f"Line {line}: the C parameter `{part.strip()}` cannot be parsed.", line
            )
        pointer = bool(match["pointer"] or match["array"])
        kind = " ".join(match["type"].split())
        if not pointer and kind not in _INTEGERS:
            raise CellError(
                f"Line {line}: `{part.strip()}` is neither a pointer nor an integer. Pass other "
                "numbers as arrays of one element.",
                line,
            )
        yield CParameter(match["name"], kind, pointer)


def _own(name: str) -> str:
    return f"jaxscope_{name}"


@dataclass(frozen=True, slots=True)
class COptions(Mapping[str, Any]):
    """The options of the C implementation beside its source; they change from size to size.

    Raises CellError when the dtype of an array does not match the C parameter.
    """

    function: CFunction
    inputs: Callable[[], Mapping[str, Any]]
    names: Callable[[], Mapping[str, Any]]

    def __getitem__(self, key: str) -> Any:
        if key == "symbol":
            return SYMBOL
        if key == "results":
            import numpy as np

            self._check()
            made: list[Any] = []
            for _, like, dtype, shape in self.function.results:
                text = f"({shape},)" if shape.strip() else "()"
                made.append(
                    np.zeros_like(self.inputs()[like])
                    if like
                    else np.zeros(eval(text, dict(self.names())), np.dtype(dtype))
                )
            returned = _RETURNED.get(self.function.returns)
            # An array of its own type: as a Python number a float would become a double.
            return [*made, np.zeros((), returned)] if returned else made
        if key == "sizes":
            names = self.names()
            return [int(names[one.name]) for one in self.function.parameters if not one.pointer]
        raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        return iter(("symbol", "results", "sizes"))

    def __len__(self) -> int:
        return 3

    def _check(self) -> None:
        inputs = self.inputs()
        for one in self.function.parameters:
            wanted = _DTYPES.get(one.type, ())
            if not one.pointer or one.name not in inputs or not wanted:
                continue
            dtype = str(getattr(inputs[one.name], "dtype", "a number"))
            if dtype not in wanted:
                raise CellError(
                    f"Line {self.function.line}: the C function takes `{one.type} *{one.name}`, "
                    f"but `{one.name}` is {dtype}",
                    self.function.line,
                )
