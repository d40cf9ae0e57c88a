"""Texts of the stages below HLO, every line linked to the equations of its instructions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from jaxscope.analysis.hlo import HloModule
from jaxscope.analysis.hlo.module import MOST_LINES
from jaxscope.analysis.machine_code.assembly import AssembledFunction
from jaxscope.analysis.machine_code.llvm import ListedFunction
from jaxscope.analysis.machine_code.tpu import PROGRAM, named_instruction
from jaxscope.model import Anchor, Stage
from jaxscope.model.compiler.machine_code import Thunk
from jaxscope.words import count, size

Linked = tuple[str, tuple[Anchor, ...]]
NO_IR = "there is no IR"


def instruction_anchors(module: HloModule, stage: Stage) -> dict[str, Anchor]:
    """By instruction of the optimized HLO: the anchor of its line."""
    by_line = {anchor.line: anchor for anchor in stage.anchors}
    return {i.name: by_line[i.line] for i in module.instructions() if i.line in by_line}


def kernel_anchors(
    thunks: Iterable[Thunk], instructions: Mapping[str, Anchor]
) -> dict[str, Anchor]:
    """By kernel: the equations of all instructions that run it."""
    found: dict[str, Anchor] = {}
    for thunk in thunks:
        anchor = instructions.get(thunk.instruction)
        if not thunk.kernel or anchor is None:
            continue
        known = found.setdefault(thunk.kernel, anchor)
        if known is not anchor:
            equations = tuple(dict.fromkeys(known.equations + anchor.equations))
            exact, why = known.exact and anchor.exact, known.why or anchor.why
            found[thunk.kernel] = Anchor(0, equations, exact, why)
    return found


def thunk_text(thunks: Sequence[Thunk], instructions: Mapping[str, Anchor]) -> Linked:
    """One line per thunk; loops and branches have theirs below them."""
    lines: list[str] = []
    anchors: list[Anchor | None] = []
    branch: dict[int, str] = {}
    deepest = max((len(t.kind) + 4 * t.depth for t in thunks), default=0)
    longest = max((len(t.instruction) for t in thunks), default=0) + 1
    for thunk in thunks:
        indent = "    " * thunk.depth
        branch = {depth: name for depth, name in branch.items() if depth <= thunk.depth}
        if thunk.branch and branch.get(thunk.depth) != thunk.branch:
            lines.append(f"{indent[:-2]}{thunk.branch}")
            anchors.append(None)
        branch[thunk.depth] = thunk.branch
        head = f"{indent}{thunk.kind}".ljust(deepest)
        name = (f"%{thunk.instruction}" if thunk.instruction else "").ljust(longest)
        lines.append(f"{head}  {name}  {_work(thunk)}".rstrip())
        anchors.append(instructions.get(thunk.instruction))
    return _text(lines, anchors)


def llvm_text(
    modules: Iterable[tuple[ListedFunction, ...]],
    thunks: Sequence[Thunk],
    kernels: Mapping[str, Anchor],
    comment: str = ";",
    others: str = "functions that several kernels call",
) -> Linked:
    """The modules one after the other, each under the names of its instructions."""
    users = instructions_of(thunks)
    lines: list[str] = []
    anchors: list[Anchor | None] = []
    for module in modules:
        named = [function.name for function in module if function.name in users]
        one = kernels.get(named[0]) if len(named) == 1 else None
        title = ", ".join(dict.fromkeys(f"%{user}" for name in named for user in users[name]))
        lines.append(f"{comment} {title or others}")
        anchors.append(one)
        for function in module:
            # A function beside one kernel is part of it.
            anchor = kernels.get(function.name) or (one if function.name else None)
            lines += [*function.lines, ""]
            anchors += [anchor if line.strip() else None for line in function.lines] + [None]
    return _text(lines, anchors)


def assembly_text(
    found: Iterable[ListedFunction], thunks: Sequence[Thunk], kernels: Mapping[str, Anchor]
) -> Linked:
    """The functions one after the other, each under its instructions and figures."""
    users = instructions_of(thunks)
    lines: list[str] = []
    anchors: list[Anchor | None] = []
    for function in found:
        anchor = kernels.get(function.name)
        own = ", ".join(f"%{one}" for one in users.get(function.name, ()))
        heading = [f"; {' · '.join(filter(None, (own, *function.figures)))}", f"{function.name}:"]
        lines += ([""] if lines else []) + heading + list(function.lines)
        anchors += [None] * (len(anchors) > 0) + [anchor] * (2 + len(function.lines))
    return _text(lines, anchors)


def bundles_text(found: Iterable[ListedFunction], instructions: Mapping[str, Anchor]) -> Linked:
    """The program of a TPU, then the functions that it calls, each under its figures."""
    lines: list[str] = []
    anchors: list[Anchor | None] = []
    for function in found:
        program = function.name == PROGRAM
        own = "the program" if program else function.name
        if own[0].isalnum() and not program:
            own = f"%{own}"
        anchor = None if program else instructions.get(function.name)
        lines += ([""] if lines else []) + [f"; {' · '.join((own, *function.figures))}"]
        anchors += [None] * (len(anchors) > 0) + [anchor]
        lines += function.lines
        anchors += [
            instructions.get(named_instruction(line)) if program else anchor
            for line in function.lines
        ]
    return _text(lines, anchors)


def figures(function: AssembledFunction) -> Iterable[str]:
    """Length, vectors and use of the stack, in words."""
    yield count(function.bytes, "byte")
    if function.vector_bits is None:
        yield "scalable vectors"
    else:
        yield f"{function.vector_bits}-bit vectors" if function.vector_bits else "scalar"
    if function.stack_stores or function.stack_loads:
        stores = count(function.stack_stores or 0, "stack store")
        yield f"{stores}, {count(function.stack_loads or 0, 'load')}"


def instructions_of(thunks: Iterable[Thunk]) -> dict[str, tuple[str, ...]]:
    """By kernel: the instructions that run it."""
    found: dict[str, dict[str, None]] = {}
    for thunk in thunks:
        if thunk.kernel:
            found.setdefault(thunk.kernel, {})[thunk.instruction] = None
    return {name: tuple(users) for name, users in found.items()}


def _work(thunk: Thunk) -> str:
    """The code that does the work of a thunk."""
    parts = [thunk.kernel or thunk.target]
    if thunk.grid:
        parts = [f"{thunk.kernel}  {_launch(thunk)}"]
    if thunk.library:
        parts.append(f"runs in the {thunk.library} library, {NO_IR}")
    elif thunk.kind == "custom-call":
        parts.append(f"a function outside the program, {NO_IR}")
    return ": ".join(filter(None, parts))


def _launch(thunk: Thunk) -> str:
    blocks, threads = (_product(one) for one in (thunk.grid, thunk.threads))
    shared = f", {size(thunk.shared_memory)} of shared memory" if thunk.shared_memory else ""
    return f"grid {blocks}, threads {threads}{shared}"


def _product(numbers: Sequence[int]) -> str:
    """`16×8` of 16, 8 and 1."""
    last = max((i for i, number in enumerate(numbers) if number != 1), default=0)
    return "×".join(map(str, numbers[: last + 1]))


def _text(lines: Sequence[str], anchors: Sequence[Anchor | None]) -> Linked:
    """Longer texts than those of HLO are without links, too."""
    few = anchors if len(lines) <= MOST_LINES else ()
    numbered = enumerate(few, 1)
    made = (Anchor(n, a.equations, a.exact, a.why, a.among) for n, a in numbered if a is not None)
    return "\n".join(lines) + "\n", tuple(made)
