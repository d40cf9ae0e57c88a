"""The LLVM IR of a program's kernels, from the files of XLA's dump."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

# module_0012.jit_f.add_fusion_kernel_module.ir-no-opt.ll
_FILE = re.compile(r"module_\d+\..+\.ir-(no|with)-opt\.ll$")
_HEAD = re.compile(r"; ModuleID|source_filename|target (?:datalayout|triple) ")
_DEFINED = re.compile(r"define .*?@(?:\"([^\"]+)\"|([\w.$\-]+))\(")
MOST_BYTES = 32_000_000
"""Compressed modules of one program; 36 000 instructions take 3 MB."""


@dataclass(frozen=True, slots=True)
class ListedFunction:
    """A function as text, with what is above it."""

    name: str
    """Empty for declarations and metadata."""
    lines: tuple[str, ...]
    figures: tuple[str, ...] = ()
    """Of its machine code, in words: `32 registers`."""


@dataclass(frozen=True, slots=True)
class LlvmModules:
    """The modules of a program before and after LLVM's passes, compressed."""

    before: tuple[bytes, ...]
    after: tuple[bytes, ...]
    whole: bool = True
    """Whether all were kept: more than `MOST_BYTES` are not."""

    def modules(self, *, optimized: bool) -> Iterator[tuple[ListedFunction, ...]]:
        """The functions of each module."""
        for packed in self.after if optimized else self.before:
            yield tuple(_functions(zlib.decompress(packed).decode("utf-8", "replace")))


def llvm_modules(files: Iterable[str], read: Callable[[str], str]) -> LlvmModules:
    """Read the modules of a dump, one at a time."""
    found: dict[str, list[bytes]] = {"no": [], "with": []}
    total, whole = 0, True
    for name in sorted(files):
        if match := _FILE.match(name):
            packed = zlib.compress(read(name).encode(), 6)
            total += len(packed)
            whole = total <= MOST_BYTES
            if not whole:
                break
            found[match[1]].append(packed)
    return LlvmModules(tuple(found["no"]), tuple(found["with"]), whole)


def in_order(
    modules: Iterable[tuple[ListedFunction, ...]], kernels: Sequence[str]
) -> list[tuple[ListedFunction, ...]]:
    """The modules in the order of the kernels that they define, each of which has one or more."""
    order = {name: i for i, name in enumerate(dict.fromkeys(kernels))}

    def place(module: tuple[ListedFunction, ...]) -> int:
        return min((order.get(function.name, len(order)) for function in module), default=0)

    return sorted(modules, key=place)


def _functions(text: str) -> Iterator[ListedFunction]:
    waiting: list[str] = []
    inside = ""
    for line in text.split("\n"):
        if _HEAD.match(line) or not (line.strip() or waiting):
            continue
        if not inside and (match := _DEFINED.match(line)):
            # A comment on the attributes of the function is above it.
            comment = [waiting.pop()] if waiting and waiting[-1].startswith("; Func") else []
            if waiting:
                yield ListedFunction("", tuple(waiting))
            waiting, inside = comment, match[1] or match[2]
        waiting.append(line)
        if inside and line == "}":
            yield ListedFunction(inside, tuple(waiting))
            waiting, inside = [], ""
    while waiting and not waiting[-1].strip():
        waiting.pop()
    if waiting:
        yield ListedFunction(inside, tuple(waiting))
