"""The machine code of kernels as assembly, with the width of its vectors. Needs capstone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from jaxscope.analysis.machine_code.elf import Function, functions, machine
from jaxscope.analysis.machine_code.executable import Executable

NO_CAPSTONE = "machine code needs capstone: `pip install jaxscope[asm]`"
_X86, _ARM = 62, 183

# Of AVX-512, AVX and SSE; a scalar instruction uses the registers of SSE, too.
_WIDE = (("zmm", 512), ("ymm", 256))
_PACKED = re.compile(
    r"v?(?:\w*p[sd]|p(?!ush|op|refetch|ause|ext|dep)\w+|mov(?:dq[au]\w*|ap\w|up\w))$"
)
_ARM_VECTOR = re.compile(r"\bv\d+\.(?:16b|8h|4s|2d)|\bq\d+")
_ARM_SCALABLE = re.compile(r"\bz\d+\.")
_PLACE = r"(?:\w+ ptr )?\[({})(?: [+-] (?:0x)?[\da-f]+)?\]"


@dataclass(frozen=True, slots=True)
class AssembledFunction:
    """A disassembled function."""

    name: str
    lines: tuple[str, ...]
    bytes: int
    vector_bits: int | None
    """None for vectors whose width only the machine knows (SVE)."""
    stack_stores: int | None
    """None where they are not told from those of registers that are saved for the caller."""
    stack_loads: int | None


def assembled(executable: Executable) -> tuple[AssembledFunction, ...]:
    """Every function of the executable, those of the plan first and in its order.

    Raises ModuleNotFoundError without capstone, and ValueError for a machine that is neither x86-64
    nor AArch64 or has no ELF files.
    """
    found = [
        _assembled(function, machine(data))
        for data in executable.objects
        for function in functions(data)
    ]
    order = {name: i for i, name in enumerate(dict.fromkeys(t.kernel for t in executable.thunks))}
    return tuple(sorted(found, key=lambda one: order.get(one.name, len(order))))


def _assembled(function: Function, number: int) -> AssembledFunction:
    rows = list(_disassembled(function.code, number))
    lines: list[str] = []
    references = sorted(function.references.items())
    for at, size, name, operands in rows:
        # A line is short of the reference by less than its length.
        note = next(
            (f"  ; {symbol}" for place, symbol in references if at <= place < at + size), ""
        )
        lines.append(f"{at:6x}  {name:<14} {operands}{note}".rstrip())
    pairs = [(name, operands) for _, _, name, operands in rows]
    length = len(function.code)
    if number == _ARM:
        return AssembledFunction(function.name, tuple(lines), length, _arm_bits(pairs), None, None)
    stores, loads = _stack(pairs)
    return AssembledFunction(function.name, tuple(lines), length, _x86_bits(pairs), stores, loads)


def _disassembled(code: bytes, number: int) -> Iterable[tuple[int, int, str, str]]:
    import capstone

    if number == _X86:
        engine = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
    elif number == _ARM:
        # Renamed in capstone 6.
        arm = getattr(capstone, "CS_ARCH_AARCH64", None) or capstone.CS_ARCH_ARM64
        engine = capstone.Cs(arm, capstone.CS_MODE_LITTLE_ENDIAN)
    else:
        raise ValueError(f"machine code of this processor (ELF machine {number}) is not read")
    engine.skipdata = True
    return engine.disasm_lite(code, 0)


def _x86_bits(rows: Sequence[tuple[str, str]]) -> int:
    for register, bits in _WIDE:
        if any(register in operands for _, operands in rows):
            return bits
    return 128 if any("xmm" in o and _PACKED.match(name) for name, o in rows) else 0


def _arm_bits(rows: Sequence[tuple[str, str]]) -> int | None:
    if any(_ARM_SCALABLE.search(operands) for _, operands in rows):
        return None
    return 128 if any(_ARM_VECTOR.search(operands) for _, operands in rows) else 0


def _stack(rows: Sequence[tuple[str, str]]) -> tuple[int, int]:
    """Stores to fixed places of the stack, and loads from there. `push` saves for the caller."""
    # LLVM's frame pointer, and its base pointer where it aligns the stack.
    bases = [r for r in ("rbp", "rbx") if ("mov", f"{r}, rsp") in rows]
    place = re.compile(_PLACE.format("|".join(["rsp", *bases])))
    stores = loads = 0
    for name, operands in rows:
        first, _, rest = operands.partition(", ")
        if name.lstrip("v").startswith("mov") and place.fullmatch(first):
            stores += 1
        elif name != "lea" and place.search(rest):
            loads += 1
    return stores, loads
