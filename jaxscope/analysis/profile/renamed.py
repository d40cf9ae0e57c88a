"""Work of an equation that XLA rewrote into instructions without its tag."""

from __future__ import annotations

from collections.abc import Collection

from jaxscope.analysis.hlo import HloModule, Instruction
from jaxscope.analysis.profile.fusion_split import FREE
from jaxscope.model import Program, Stage

_SCANS = frozenset({"cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp"})
_WINDOW = "reduce-window"


def renamed(program: Program, stage: Stage, module: HloModule) -> dict[str, int]:
    """Untagged instruction → the equation that it is for, where nothing else can be meant.

    XLA cuts a cumulative sum into small windows, adds these up again, and tags none of it; its
    neighbors would have all of its time. With two such equations on different lines nothing is
    said: the windows do not tell which they are of.
    """
    windows = {i.name for i in module.instructions() if i.opcode == _WINDOW}
    if not windows:
        return {}
    sure: set[str] = set()
    tagged: set[int] = set()
    for anchor in stage.anchors:
        instruction = module.at_line(anchor.line)
        if anchor.exact and instruction is not None and instruction.opcode not in FREE:
            sure.add(instruction.name)
            tagged.update(anchor.equations[:1])
    lost = [e for e in program.equations if e.primitive in _SCANS and e.id not in tagged]
    if not lost or len({e.frames[:1] for e in lost}) > 1 or windows & sure:
        return {}
    return dict.fromkeys(_following(module, windows, sure), lost[0].id)


def _following(module: HloModule, windows: Collection[str], sure: Collection[str]) -> set[str]:
    """The windows, and what without a tag of its own joins their results."""
    found = set(windows)
    for computation in module.computations:
        for instruction in computation.instructions:
            if instruction.name in sure or instruction.opcode in FREE:
                continue
            inside = {
                inner.name
                for called in instruction.called
                if (body := module.computation(called)) is not None
                for inner in body.instructions
            }
            joins = _named(instruction) or any(o in found for o in _made(module, instruction))
            if inside & found or joins:
                found.add(instruction.name)
    return found


def _named(instruction: Instruction) -> bool:
    return instruction.op_name.startswith("reduce_window")


def _made(module: HloModule, instruction: Instruction) -> list[str]:
    """Its operands, those that cost nothing looked through."""
    waiting, found, seen = list(instruction.operands), list[str](), set[str]()
    while waiting:
        name = waiting.pop()
        operand = module.instruction(name)
        if name in seen or operand is None:
            continue
        seen.add(name)
        if operand.opcode in FREE:
            waiting += operand.operands
        else:
            found.append(name)
    return found
