"""The text of a stage as functions of lines, with names separated from content."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from dataclasses import dataclass

from jaxscope.analysis.hlo import HloTextError, parse_module
from jaxscope.analysis.hlo.module import Instruction
from jaxscope.model import StageKind


@dataclass(frozen=True, slots=True)
class IrLine:
    """One line: its content without names, and the names that it binds and uses."""

    number: int
    text: str
    key: str
    """The line with every name removed."""
    operation: str
    """Its opcode or primitive; lines of the same one are likely counterparts."""
    defines: tuple[str, ...] = ()
    uses: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()
    """Names of the functions that it calls."""


@dataclass(frozen=True, slots=True)
class IrFunction:
    """An HLO computation, a StableHLO function, a whole jaxpr, or the heading of a module."""

    name: str
    lines: tuple[IrLine, ...]
    entry: bool = False
    """Whether the program starts here."""


def ir_functions(kind: StageKind, text: str) -> tuple[IrFunction, ...]:
    """The functions of a text. A text that cannot be parsed is one function of plain lines."""
    if kind is StageKind.JAXPR:
        return (IrFunction("", tuple(_jaxpr(text)), entry=True),)
    if kind is StageKind.STABLEHLO:
        return tuple(_functions(text))
    if kind in (StageKind.HLO, StageKind.OPTIMIZED_HLO):
        with contextlib.suppress(HloTextError):
            return tuple(_computations(text))
    numbered = enumerate(text.split("\n"), 1)
    lines = [IrLine(n, line, line.strip(), "") for n, line in numbered if line.strip()]
    return (IrFunction("", tuple(lines), entry=True),)


# Addresses of Python objects in parameters differ between processes.
_ADDRESS = re.compile(r"0x[0-9a-f]{6,}")

# jaxpr: `c:f32[4] = add a b`. A name before a type binds; a bare word that was bound is used.
_BINDER = re.compile(r"(?<![\w.])([a-z]+|_):(?=[A-Za-z]\w*[\[<{(])")
_WORD = re.compile(r"= (\w+)|(?<![\w.=:@<'\"])([a-z]+)(?![\w=:\[.(<'\"])")


def _jaxpr(text: str) -> Iterator[IrLine]:
    known: set[str] = set()
    for number, raw in enumerate(text.split("\n"), 1):
        if not raw.strip():
            continue
        defines = tuple(_BINDER.findall(raw))
        known.update(defines)
        uses: list[str] = []
        key = _remove_names(_BINDER.sub("·:", raw), known, uses)
        operation = re.search(r"= (\w+)", raw)
        yield IrLine(
            number,
            raw,
            _ADDRESS.sub("0x·", key.strip()),
            operation[1] if operation else "",
            defines,
            tuple(uses),
        )


def _remove_names(text: str, known: set[str], uses: list[str]) -> str:
    def taken(match: re.Match[str]) -> str:
        word = match[2]
        if word is None or word not in known:
            return match[0]
        uses.append(word)
        return "·"

    return _WORD.sub(taken, text)


# StableHLO: `%3:4 = stablehlo.while(%iterArg = %1, …)`, `func.func private @f(%arg0: …)`.
_FUNCTION = re.compile(r'\s*func\.func (?:\w+ )?@("[^"]*"|[\w$.\-]+)\(')
_VALUE = re.compile(r"%([\w$.\-]+)(:\d+(?= = ))?(#\d+)?( = |: )?")
_SYMBOL = re.compile(r'@("[^"]*"|[\w$.\-]+)')
_OPERATION = re.compile(r"(?:= )?\"?([a-z_]\w*\.[\w.]+|return|call)\b")


def _functions(text: str) -> Iterator[IrFunction]:
    lines = text.split("\n")
    starts = {
        index: match[1]
        for index, line in enumerate(lines)
        if "func.func" in line and (match := _FUNCTION.match(line)) is not None
    }
    names = frozenset(starts.values())
    first, *ends = [*starts, len(lines)]
    if first:
        yield IrFunction("module", tuple(_stable(lines[:first], 0, names)), entry=not starts)
    for (start, name), end in zip(starts.items(), ends, strict=True):
        yield IrFunction(name, tuple(_stable(lines[start:end], start, names)), entry=name == "main")


def _stable(lines: list[str], offset: int, functions: frozenset[str]) -> Iterator[IrLine]:
    calls: list[str] = []
    defines: list[str] = []
    uses: list[str] = []
    head = False

    def symbol(match: re.Match[str]) -> str:
        if not head and match[1] not in functions:
            return match[0]
        if not head:
            calls.append(match[1])
        return "@·"

    def value(match: re.Match[str]) -> str:
        name, several, part, binds = match.groups("")
        (defines if binds else uses).append(name)
        return f"·{several}{part}{binds}"

    for number, raw in enumerate(lines, offset + 1):
        if not raw.strip(" })>"):
            continue
        head = raw.lstrip().startswith(("func.func", "module"))
        calls, defines, uses = [], [], []
        key = _VALUE.sub(value, _SYMBOL.sub(symbol, raw) if "@" in raw else raw).strip()
        operation = _OPERATION.search(raw)
        name = operation[1] if operation else ""
        yield IrLine(number, raw, key, name, tuple(defines), tuple(uses), tuple(calls))


# HLO: `%add.1 = f32[4]{0} add(%x, %y), calls=%fused, metadata={…}`.
_METADATA = re.compile(r',? ?metadata=\{((?:[^{}"]++|"(?:[^"\\]++|\\.)*+")*+)\}')
_NAME = re.compile(r"%[\w.\-]+")
# Channel numbers identify collectives and do not change their meaning.
_NUMBERED = re.compile(r", channel_id=\d+")
_MODULE_NAME = re.compile(r"^HloModule [^\s,]+")


def _computations(text: str) -> Iterator[IrFunction]:
    module = parse_module(text)
    lines = text.split("\n")
    heading = [
        IrLine(number, line, _MODULE_NAME.sub("HloModule ·", line), "HloModule")
        for number, line in enumerate(lines[:1], 1)
        if line.startswith("HloModule")
    ]
    if heading:
        yield IrFunction("HloModule", tuple(heading))
    for computation in module.computations:
        # The heading of a computation only repeats its parameters.
        read = [_instruction(i, lines[i.line - 1]) for i in computation.instructions]
        unread = [
            IrLine(number, lines[number - 1], lines[number - 1].strip(), "")
            for number in module.unread
            if computation.line < number < computation.end_line
        ]
        body = sorted([*read, *unread], key=lambda line: line.number)
        yield IrFunction(computation.name, tuple(body), entry=computation.name == module.entry)


def _instruction(instruction: Instruction, text: str) -> IrLine:
    attributes = _METADATA.sub("", instruction.attributes_text)
    for name in sorted(instruction.called, key=len, reverse=True):
        attributes = re.sub(rf"%?(?<![\w.\-]){re.escape(name)}(?![\w.\-])", "@", attributes)
    attributes = _NUMBERED.sub("", _NAME.sub("·", attributes))
    arguments = f"{len(instruction.operands)}" if instruction.operands else instruction.arguments
    root = "ROOT " if instruction.is_root else ""
    return IrLine(
        instruction.line,
        text,
        f"{root}{instruction.shape.text} {instruction.opcode}({arguments}){attributes}",
        instruction.opcode,
        (instruction.name,),
        instruction.operands,
        instruction.called,
    )
