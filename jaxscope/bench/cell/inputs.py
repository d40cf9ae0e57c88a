"""Inputs as typed, `x=normal(n,n)`, made once per size, equal in every run; and the options."""

from __future__ import annotations

import ast
import builtins
import difflib
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import CodeType
from typing import TYPE_CHECKING, Any

from jaxscope.analysis.python.cell import CellSyntax
from jaxscope.bench.cell.sections import CellError
from jaxscope.model.comparison import TimingMode

if TYPE_CHECKING:
    import numpy as np


MAKERS = tuple(
    "normal uniform complex_normal integers ones zeros arange linspace eye".split()  # noqa: SIM905
)
"""Functions that make arrays on the line of a benchmark, beside the user's own."""


@dataclass(frozen=True, slots=True)
class InputSpec:
    """One input as an expression, compiled and not yet evaluated."""

    name: str
    text: str
    code: CodeType
    reads: tuple[str, ...]


def spec(name: str, text: str) -> InputSpec:
    """Compile `normal(n,n)`. Raises CellError when it is not an expression."""
    try:
        tree = ast.parse(text.strip(), filename=f"<input {name}>", mode="eval")
    except SyntaxError as error:
        raise CellError(
            f"The input `{name}={text}` is not a Python expression: {error.msg}. "
            "Write it as `x=normal(n,n)`, or give the name of an array."
        ) from None
    whole = ast.Module(body=[ast.Expr(value=tree.body)], type_ignores=[])
    return InputSpec(name, text, compile(tree, f"<input {name}>", "eval"), CellSyntax(whole).reads)


def makers(seed: int) -> dict[str, Callable[..., Any]]:
    """`normal(n, n)`, `ones(n)` and the others, with numbers that depend on the seed alone."""
    import numpy as np

    random = np.random.default_rng(seed)

    def integers(low: int, high: int, *shape: int) -> np.ndarray:
        return random.integers(low, high, size=shape)

    return {
        "normal": lambda *shape: random.standard_normal(shape),
        "uniform": lambda *shape: random.uniform(size=shape),
        "complex_normal": lambda *shape: (
            random.standard_normal(shape) + 1j * random.standard_normal(shape)
        ),
        "integers": integers,
        "ones": lambda *shape: np.ones(shape),
        "zeros": lambda *shape: np.zeros(shape),
        "arange": np.arange,
        "linspace": np.linspace,
        "eye": np.eye,
    }


def check(given: InputSpec, names: Iterable[str]) -> None:
    """Raise CellError when the expression needs a name that is not defined."""
    known = set(names)
    missing = [name for name in given.reads if name not in known and not hasattr(builtins, name)]
    if missing:
        # A single letter resembles every other: it is a missing size, not a misspelling.
        short = len(missing[0]) == 1
        near = () if short else difflib.get_close_matches(missing[0], [*MAKERS, *known], n=1)
        raise CellError(
            f"The input `{given.name}={given.text}` needs `{missing[0]}`, which is not defined: it "
            f"is neither a size, nor a variable, nor one of {', '.join(MAKERS)}."
            + (f" Did you mean `{near[0]}`?" if near else "")
            + (f" If it is a size, add --sizes {missing[0]}=100." if short else "")
        )


def value(given: InputSpec, names: Mapping[str, Any]) -> Any:
    """The input's value. Raises CellError in place of the exception of its evaluation."""
    check(given, names)
    try:
        return eval(given.code, dict(names))
    except MemoryError:
        raise
    except Exception as error:
        listed = next((n for n in given.reads if type(names.get(n)) is tuple), "")
        fix = f" Write sizes as `--sizes {listed}=…`." if listed else ""
        raise CellError(
            f"The input `{given.name}={given.text}` raised {type(error).__name__}: {error}.{fix}"
        ) from error


def estimated_bytes(given: InputSpec, sizes: Mapping[str, Any], itemsize: int) -> int:
    """Upper bound of the input's memory, from the shapes passed to the makers; else 0.

    Only calls of makers whose arguments follow from the sizes are counted, so that an impossible
    size is refused before any memory is allocated.
    """
    tree = ast.parse(given.text, mode="eval")
    total = 0
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            continue
        if node.func.id not in MAKERS:
            continue
        try:
            numbers = [
                eval(
                    compile(ast.Expression(body=argument), "<size>", "eval"),
                    {"__builtins__": {"int": int, "round": round, "max": max, "min": min}},
                    dict(sizes),
                )
                for argument in node.args
            ]
        except Exception:  # it depends on more than the sizes
            continue
        total += _elements(node.func.id, numbers) * itemsize
    return total


def _elements(maker: str, numbers: list[Any]) -> int:
    try:
        if maker == "arange":
            start, stop = (0, numbers[0]) if len(numbers) == 1 else numbers[:2]
            step = numbers[2] if len(numbers) > 2 else 1
            return max(math.ceil((stop - start) / step), 0)
        if maker == "linspace":
            return int(numbers[2]) if len(numbers) > 2 else 50
        if maker == "eye":
            return int(numbers[0]) * int(numbers[1] if len(numbers) > 1 else numbers[0])
        shape = numbers[2:] if maker == "integers" else numbers
        twice = 2 if maker == "complex_normal" else 1
        return twice * math.prod(int(one) for one in shape)
    except (TypeError, ValueError, ZeroDivisionError, IndexError):
        return 0


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchRequest:
    """The options of `%%jaxbench` and of `jaxscope.compare`."""

    vs: tuple[str, ...] = ()
    """Implementations by name, the first one the baseline; empty: those of the cell's sections."""
    inputs: tuple[InputSpec, ...] = ()
    sizes: tuple[Mapping[str, int], ...] = field(default=({},))
    devices: tuple[str, ...] = ()
    grad: tuple[str, ...] | None = None
    """Names to differentiate for; empty: the first input; None: no gradient."""
    vmap: tuple[tuple[str, int | None], ...] | None = None
    """Batch axes by name; empty: axis 0 of every input; None: no vmap."""
    dtype: str | None = None
    """None: unchanged, but 32 bits wide while JAX has 64-bit types disabled."""
    x64: bool = False
    """With JAX's 64-bit types enabled."""
    mode: TimingMode = TimingMode.LATENCY
    processes: int = 1
    time_limit: float | None = None
    """Seconds of the whole comparison."""
    tolerance: float | None = None
    check: bool = True
    """Whether results are compared; random numbers, for one, need not be equal."""
    seed: int = 0
