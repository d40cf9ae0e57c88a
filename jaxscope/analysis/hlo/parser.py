"""Parse HLO text, line by line, into an `HloModule`.

Supports `compiled.as_text()`, unoptimized HLO (jaxlib 0.8 to 0.12) and XLA dumps for
GPU and TPU. Big programs have 100 000 lines, so a common line is only cut at its separators, and
attributes stay text until they are used.
"""

import functools
import re
import sys
from collections.abc import Callable

from jaxscope.analysis.hlo.attributes import (
    closing_parenthesis,
    parse_attributes,
    split_top_level,
    unescape,
)
from jaxscope.analysis.hlo.frames import TABLE_NAMES, parse_stack_frames
from jaxscope.analysis.hlo.module import Computation, HloModule, Instruction
from jaxscope.analysis.hlo.shape import Shape, parse_shape

# XLA's identifiers are ASCII, and classes of ASCII match twice as fast.
#   ROOT %add.1 = (f32[4,8]{1,0}, s32[]) add(
_INSTRUCTION = re.compile(r"\s+(ROOT )?%?([\w.\-]++) = (\(.*?\)|\S+) ([a-z][\w\-]*+)\(", re.ASCII)
# ENTRY %main.7 (w.1: f32[16,16]) -> f32[16] {
COMPUTATION = re.compile(r"(ENTRY )?%?([\w.\-]+)(?: \(.*\) -> .*)? \{\s*$", re.ASCII)
# HloModule jit_f, is_scheduled=true, ...
MODULE = re.compile(r"HloModule ([^\s,]+)(.*)")
# , metadata={op_name="jit(f)/add" stack_frame_id=23}
_COMMON_METADATA = re.compile(r'metadata=\{op_name="([^"\\]*)"(?: stack_frame_id=(\d+))?\}')
_METADATA = re.compile(r'metadata=\{((?:[^{}"]++|"(?:[^"\\]++|\\.)*+")*+)\}')
_OP_NAME = re.compile(r'(?:^|\s)op_name="((?:[^"\\]++|\\.)*+)"')
_FRAME = re.compile(r"(?:^|\s)stack_frame_id=(\d+)")
_OPERAND = re.compile(r"%([\w.\-]++)", re.ASCII)
_COMMENT = re.compile(r"/\*.*?\*/")
_CALLED_KEYS = (
    "calls", "to_apply", "condition", "body", "branch_computations", "true_computation",
    "false_computation", "select", "scatter", "called_computations", "called_computation",
    "comparator", "decomposition",
)  # fmt: skip
_CALLED = re.compile(rf"\b(?:{'|'.join(_CALLED_KEYS)})=(?:%?([\w.\-]+)|\{{([^{{}}]*)\}})")
# Opcodes whose parentheses hold a literal or a number, never operands.
_WITHOUT_OPERANDS = frozenset({"parameter", "constant", "iota"})


class HloTextError(ValueError):
    """The text is not an HLO module."""


def parse_module(text: str) -> HloModule:
    """Parse the text of a whole module.

    Raises HloTextError if it has no computation. An unknown line is skipped and its number kept in
    `unread`, so that a new spelling costs one instruction.
    """
    name = ""
    heading = ""
    tables: dict[str, list[str]] = {}
    table: list[str] | None = None
    opened: tuple[str, int, bool] | None = None
    instructions: list[Instruction] = []
    raw: list[tuple[str, tuple[Instruction, ...], int, int, bool]] = []
    fused: set[str] = set()
    unread: list[int] = []
    # Equal texts are parsed once.
    parse, read = functools.cache(parse_shape), functools.cache(read_attributes)
    for number, line in enumerate(text.split("\n"), 1):
        if opened is not None:
            if line.startswith("}"):
                raw.append((opened[0], tuple(instructions), opened[1], number, opened[2]))
                opened, instructions = None, []
            elif (
                instruction := read_instruction(line, number, opened[0], parse, read)
            ) is not None:
                instructions.append(instruction)
                if instruction.opcode == "fusion":
                    fused.update(instruction.called)
            elif line.strip() and not line.lstrip().startswith("//"):
                unread.append(number)
        elif not line.strip():
            table = None
        elif table is not None:
            table.append(line)
        elif line.rstrip() in TABLE_NAMES:
            table = tables.setdefault(line.rstrip(), [])
        elif (module := MODULE.match(line)) is not None:
            name, heading = module[1], module[2]
        elif (start := COMPUTATION.match(line)) is not None:
            opened = (start[2], number, bool(start[1]))
    computations = tuple(
        Computation(name, instructions, line, end, is_entry, is_fused=name in fused)
        for name, instructions, line, end, is_entry in raw
        if instructions
    )
    if not computations:
        start = text.strip()[:60]
        raise HloTextError(
            f"This text has no HLO computation; it begins with {start!r}."
            if start
            else "There is no HLO: the text is empty."
        )
    entry = next((c.name for c in computations if c.is_entry), computations[-1].name)
    return HloModule(
        name, computations, entry, heading, parse_stack_frames(tables), unread=tuple(unread)
    )


@functools.lru_cache(maxsize=4)
def parsed(text: str) -> HloModule:
    """`parse_module` of a text that a report shows: its links, costs and views read the same."""
    return parse_module(text)


def read_instruction(
    line: str,
    number: int,
    computation: str,
    parse: Callable[[str], Shape],
    read: Callable[[str], tuple[str, int | None, tuple[str, ...]]],
) -> Instruction | None:
    beginning, _, rest = line.partition(" = ")
    shape_text, _, rest = rest.partition(" ")
    opcode, _, rest = rest.partition("(")
    arguments, closed, attributes = rest.partition(")")
    name = beginning.strip()
    is_root = name[:5] == "ROOT "
    if is_root:
        name = name[5:]
    # Where nothing in the parentheses has parentheses or strings: half the time of the expression.
    if (
        closed
        and line[0] == " "
        and " " not in name
        and shape_text
        and shape_text[0] != "("
        and opcode[:1].islower()
        and "(" not in arguments
        and '"' not in arguments
    ):
        name = name.removeprefix("%")
    elif (match := _INSTRUCTION.match(line)) is not None and ")" in line[match.end() :]:
        root, name, shape_text, opcode = match.groups()
        is_root, end = root is not None, closing_parenthesis(line, match.end())
        arguments, attributes = line[match.end() : end], line[end + 1 :]
    else:
        return None
    op_name, frame, called = read(attributes)
    operands = () if opcode in _WITHOUT_OPERANDS else _read_operands(arguments)
    # By position, and without the `__new__` of a named tuple: a third of the time.
    return tuple.__new__(Instruction, (
        name, sys.intern(opcode), parse(shape_text), arguments, operands, called, op_name, frame,
        is_root, number, computation, attributes,
    ))  # fmt: skip


def _read_operands(arguments: str) -> tuple[str, ...]:
    if "%" in arguments:
        if "[" not in arguments and "/" not in arguments:  # names alone
            return tuple(arguments.replace("%", "").split(", "))
        return tuple(_OPERAND.findall(arguments))
    if not arguments.strip():
        return ()
    # A text printed without `%`: the name is the last word of each piece, after an optional shape.
    pieces = split_top_level(_COMMENT.sub("", arguments))
    return tuple(piece.split()[-1] for piece in pieces if piece.strip())


def read_attributes(text: str) -> tuple[str, int | None, tuple[str, ...]]:
    """The op_name, the stack frame and the called computations."""
    if not text:
        return "", None, ()
    cut = text.find("metadata={")
    op_name, frame, metadata = "", None, ""
    if "sharding=" in text or "frontend_attributes=" in text:
        # They contain free text and metadata: parse the attributes fully.
        attributes = parse_attributes(text)
        metadata = attributes.get("metadata", "").strip("{}")
        head = "".join(f"{key}={attributes[key]}, " for key in _CALLED_KEYS if key in attributes)
    elif cut >= 0:
        head = text[:cut]
        if (common := _COMMON_METADATA.match(text, cut)) is not None:
            op_name, frame = common[1], int(common[2]) if common[2] else None
        elif (block := _METADATA.search(text, cut)) is not None:
            metadata = block[1]
    else:
        cut = text.find("backend_config=")
        head = text if cut < 0 else text[:cut]
    if metadata:
        op_name, frame = _read_metadata(metadata)
    if not head:
        return op_name, frame, ()
    called: list[str] = []
    for one, several in _CALLED.findall(head):
        if one:
            called.append(one)
        else:
            called += (piece.strip().removeprefix("%") for piece in several.split(","))
    return op_name, frame, tuple(called)


def _read_metadata(metadata: str) -> tuple[str, int | None]:
    name = _OP_NAME.search(metadata)
    frame = _FRAME.search(metadata, name.end() if name else 0)
    return unescape(name[1]) if name else "", int(frame[1]) if frame else None
