"""The stages below HLO of a program for a target: from the dump of its compiler, and from ptxas."""

from __future__ import annotations

from collections.abc import Callable

from jaxscope.analysis.hlo import HloModule
from jaxscope.analysis.machine_code.executable import Executable, read_executable
from jaxscope.analysis.machine_code.gpu import gpu_thunks, ptx_modules
from jaxscope.analysis.machine_code.llvm import in_order, llvm_modules
from jaxscope.analysis.machine_code.text import (
    Linked,
    assembly_text,
    bundles_text,
    instruction_anchors,
    llvm_text,
)
from jaxscope.analysis.machine_code.tpu import bundles
from jaxscope.capture.program.machine_code import BelowHlo, linked_below
from jaxscope.capture.targets import ptxas
from jaxscope.capture.targets.compiled import TargetProgram, bundles_of
from jaxscope.model import Stage, StageKind, Unavailable

_UNNAMED = "kernels that no thunk names"


def below_target(program: TargetProgram, module: HloModule, stage: Stage) -> BelowHlo:
    """The thunks of a program for a GPU or a CPU, and its links.

    Raises ValueError where there are none.
    """
    answer = program.answer
    if answer.serialized:
        executable = read_executable(answer.serialized)
    else:
        sequence = answer.dumped("thunk_sequence_after_thunk_passes.txt")
        targets = {i.name: i.custom_call_target or "" for i in module.instructions()}
        thunks = gpu_thunks(
            sequence or answer.dumped("thunk_sequence.txt"),
            answer.dumped("thunk_metadata.txt"),
            targets,
        )
        executable = Executable(thunks, ())
    return linked_below(executable, module, stage)


def target_stage(
    kind: StageKind,
    program: TargetProgram,
    below: Callable[[], BelowHlo | Unavailable],
    module: HloModule,
    stage: Stage,
) -> Stage:
    """A stage below HLO; `module` and `stage` are its optimized HLO. Only `LLO` compiles."""
    name = program.target.name
    try:
        if program.platform not in kind.platforms:
            raise ValueError(f"a program for {name} has none")
        if program.out_of_memory:
            raise ValueError(f"the program does not fit {name}, so its compiler made no code")
        return _made(kind, program, below, module, stage)
    except (ValueError, ModuleNotFoundError) as error:  # TargetError is one
        return Stage(kind, unavailable=Unavailable(str(error).rstrip(".")))


def _made(
    kind: StageKind,
    program: TargetProgram,
    below: Callable[[], BelowHlo | Unavailable],
    module: HloModule,
    stage: Stage,
) -> Stage:
    if kind is StageKind.LLO:
        answer = bundles_of(program)
        found = bundles({file: answer.read(file) for file in answer.files})
        return _stage(kind, bundles_text(found, instruction_anchors(module, stage)))
    known = below()
    if isinstance(known, Unavailable):
        return Stage(kind, unavailable=known)
    match kind:
        case StageKind.THUNKS:
            return known.thunks()
        case StageKind.ASM:
            return known.asm()
        case StageKind.PTX:
            return _ptx(program, known)
        case StageKind.SASS:
            return _sass(program, known)
        case _:
            return known.llvm(llvm_modules(program.answer.files, program.answer.read), kind)


def _ptx(program: TargetProgram, known: BelowHlo) -> Stage:
    thunks = known.executable.thunks
    found = in_order(ptx_modules(_ptx_texts(program)), [thunk.kernel for thunk in thunks])
    if not found:
        return Stage(StageKind.PTX, unavailable=known.no_kernel())
    return _stage(StageKind.PTX, llvm_text(found, thunks, known.linked, "//", _UNNAMED))


def _sass(program: TargetProgram, known: BelowHlo) -> Stage:
    thunks = known.executable.thunks
    order = {name: i for i, name in enumerate(dict.fromkeys(t.kernel for t in thunks))}
    found = sorted(
        ptxas.assembled(_ptx_texts(program)), key=lambda one: order.get(one.name, len(order))
    )
    return _stage(StageKind.SASS, assembly_text(found, thunks, known.linked))


def _stage(kind: StageKind, linked: Linked) -> Stage:
    return Stage(kind, linked[0], None, linked[1])


def _ptx_texts(program: TargetProgram) -> list[str]:
    answer = program.answer
    texts = [answer.read(name) for name in answer.files if name.endswith(".ptx")]
    # A module without code is an empty file.
    return [text for text in texts if ".version" in text]
