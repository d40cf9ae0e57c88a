"""C: compiled by the system's compiler, with its pointers bound before the clock runs.

The source defines `void run(...)` (or another name by the option `symbol`): one pointer for each
input array in order, one for each result, and then the sizes that the option `sizes` lists, as
`long`. Calling through ctypes with arguments to convert would take ten times as long as the call.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from jaxscope.bench.frameworks.implementation import Implementation, Prepared, Refusal, Task, timed
from jaxscope.bench.placement import aligned_copy
from jaxscope.model import Unavailable
from jaxscope.model.comparison import Phases

_COMPILERS = ("cc", "gcc", "clang")
_FLAGS = ("-O3", "-shared", "-fPIC")
_NATIVE = "-march=native"  # some compilers for ARM do not know it
_ERROR = re.compile(r"^[^\n:]*section\.c:(\d+)(?::\d+)?: (?:fatal )?error: ([^\n]*)", re.M)
_MISSING = re.compile(r"undefined (?:reference to|symbol:?) [`'\u2018\"]?(\w+)")
_SCALARS = {"double": ctypes.c_double, "float": ctypes.c_float, "long": ctypes.c_long}


class C(Implementation):
    """C source text. Options: `symbol`, `results` (NumPy arrays with the shapes and dtypes of the
    results, or a C type such as `double` for a function that returns its one result), `sizes`,
    `flags`."""

    name = "c"
    title = "C"
    compiles = True
    releases_gil = True

    def missing(self) -> str:
        if compiler() is None:
            tried = ", ".join(_COMPILERS)
            return f"No C compiler was found: neither $CC nor {tried} is available."
        return ""

    def versions(self) -> tuple[tuple[str, str], ...]:
        done = subprocess.run([*(compiler() or ()), "--version"], capture_output=True, text=True)
        return (("c", done.stdout.partition("\n")[0].strip()),)

    def prepare(self, task: Task, args: Sequence[Any], device: str) -> Prepared:
        if task.grad or task.vmap:
            what = "gradients" if task.grad else "vmap"
            raise Refusal(f"C has no {what}: write that function in the section.")
        if not isinstance(task.function, str):
            raise Refusal("`c` compiles C source text, and was given a Python function.")
        for name, array in zip(task.names, args, strict=True):
            if not array.flags.c_contiguous:
                raise Refusal(f"`{name}` is not C-contiguous.")
        source, flags = task.function, tuple(task.options.get("flags", ()))
        library, compile_s = timed(lambda: compiled(source, flags, task.compile_s))
        symbol = str(task.options.get("symbol", "run"))
        try:
            function = getattr(ctypes.CDLL(str(library)), symbol)
        except AttributeError:
            raise Refusal(
                f"The C source defines no function `{symbol}` that can be called."
            ) from None
        except OSError as error:  # the loader could not resolve a symbol
            raise Refusal(_rejection(str(error))) from None
        call = _bound(function, task, args)
        return Prepared(
            call,
            Phases(compile_s=compile_s),
            bound=True,
            peak_bytes=Unavailable("C does not report its allocations"),
        )


def compiler() -> list[str] | None:
    """$CC, or the first of cc, gcc and clang that is available."""
    own = shlex.split(os.environ.get("CC", ""))
    if own and shutil.which(own[0]):
        return own
    found = next((name for name in _COMPILERS if shutil.which(name)), None)
    return [found] if found else None


def compiled(source: str, flags: tuple[str, ...], limit_s: float) -> Path:
    """The shared library of a source text. Raises Refusal with the compiler's first error."""
    folder = Path(tempfile.mkdtemp(prefix="jaxscope-c-"))
    # Kept until the process ends: the loader identifies libraries by inode, and would mistake a
    # later library that reuses the inode of a removed one for it.
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    text, library = folder / "section.c", folder / "section.so"
    text.write_text(source)
    command = [*(compiler() or ()), *_FLAGS, *flags, str(text), "-o", str(library), "-lm"]
    try:
        done = subprocess.run([*command, _NATIVE], capture_output=True, text=True, timeout=limit_s)
        if done.returncode and _NATIVE.lstrip("-") in done.stderr:
            done = subprocess.run(command, capture_output=True, text=True, timeout=limit_s)
    except subprocess.TimeoutExpired:
        raise Refusal(f"The C compiler took longer than {limit_s:.3g} s.") from None
    if done.returncode:
        raise Refusal(_rejection(done.stderr))
    return library


def _rejection(output: str) -> str:
    """The first error of the compiler or the linker, as a sentence with its line."""
    errors = _ERROR.findall(output)
    if errors:
        line, text = errors[0]
        more = f" (the first of {len(errors)} errors)" if len(errors) > 1 else ""
        return f"The C compiler rejected line {line}: {text.strip().rstrip('.')}{more}."
    missing = _MISSING.search(output)
    if missing is not None:
        return f"The C code calls `{missing[1]}`, which is not defined."
    first = next(
        (line.strip() for line in output.splitlines() if line.strip()), "it printed nothing"
    )
    return f"The C compiler rejected the source: {first[:300].rstrip('.')}."


def _bound(function: Any, task: Task, args: Sequence[Any]) -> Callable[[], Any]:
    """The call with every pointer and size bound; the results are returned without a copy."""
    results = task.options.get("results", ())
    sizes = [ctypes.c_long(int(size)) for size in task.options.get("sizes", ())]
    inputs = [ctypes.c_void_p(array.ctypes.data) for array in args]
    if isinstance(results, str):
        if results not in _SCALARS:
            known = ", ".join(_SCALARS)
            raise Refusal(f"`{results}` is not a type of a C result: use {known}, or arrays.")
        function.restype = _SCALARS[results]
        bound = [*inputs, *sizes]

        def scalar() -> Any:
            return function(*bound)

        return scalar
    function.restype = None
    outputs = tuple([aligned_copy(np.zeros_like(array)) for array in results])
    bound = [*inputs, *[ctypes.c_void_p(out.ctypes.data) for out in outputs], *sizes]
    answer = outputs[0] if len(outputs) == 1 else outputs

    def filled() -> Any:
        function(*bound)
        return answer

    # The arrays must outlive the pointers.
    filled.keep = (args, outputs)  # pyright: ignore[reportFunctionMemberAccess]
    return filled
