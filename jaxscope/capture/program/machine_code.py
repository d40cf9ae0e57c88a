"""The stages below HLO, from the executable that runs and from a dump of its compilation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from jaxscope.analysis.hlo import HloModule
from jaxscope.analysis.machine_code.assembly import NO_CAPSTONE, AssembledFunction, assembled
from jaxscope.analysis.machine_code.executable import Executable, read_executable
from jaxscope.analysis.machine_code.llvm import ListedFunction, LlvmModules, in_order
from jaxscope.analysis.machine_code.text import (
    assembly_text,
    figures,
    instruction_anchors,
    instructions_of,
    kernel_anchors,
    llvm_text,
    thunk_text,
)
from jaxscope.capture import _jax
from jaxscope.model import Anchor, Stage, StageKind, Unavailable
from jaxscope.model.compiler.machine_code import MachineKernel
from jaxscope.words import listed

NO_KERNEL = "the program has no kernel of its own{}"


@dataclass(frozen=True, slots=True)
class BelowHlo:
    """A program's executable, and the links of its instructions and kernels."""

    executable: Executable
    instructions: Mapping[str, Anchor]
    linked: Mapping[str, Anchor]
    """By kernel."""

    def thunks(self) -> Stage:
        """The plan for the run."""
        text, anchors = thunk_text(self.executable.thunks, self.instructions)
        return Stage(StageKind.THUNKS, text, None, anchors)

    def llvm(self, modules: LlvmModules, kind: StageKind) -> Stage:
        """The modules of all kernels."""
        if not modules.whole:
            return Stage(kind, unavailable=Unavailable("it is more than is kept of a program"))
        thunks = self.executable.thunks
        found = modules.modules(optimized=kind is StageKind.LLVM_OPTIMIZED)
        ordered = in_order(found, [thunk.kernel for thunk in thunks])
        if not ordered:
            return Stage(kind, unavailable=Unavailable("this jaxlib dumps no LLVM IR of it"))
        text, anchors = llvm_text(ordered, thunks, self.linked)
        return Stage(kind, text, None, anchors)

    def asm(self) -> Stage:
        """The functions of the object files."""
        kind = StageKind.ASM
        found = self.assembled()
        if isinstance(found, Unavailable):
            return Stage(kind, unavailable=found)
        listed = (ListedFunction(f.name, f.lines, tuple(figures(f))) for f in found)
        text, anchors = assembly_text(listed, self.executable.thunks, self.linked)
        return Stage(kind, text, None, anchors)

    def assembled(self) -> tuple[AssembledFunction, ...] | Unavailable:
        """The disassembled functions; the reason where there are none."""
        if not self.executable.objects:
            return self.no_kernel()
        try:
            return assembled(self.executable)
        except ModuleNotFoundError:
            return Unavailable(NO_CAPSTONE)
        except ValueError as error:
            return Unavailable(str(error))

    def kernels(
        self, spans: Mapping[int, Iterable[int]]
    ) -> tuple[MachineKernel, ...] | Unavailable:
        """Every kernel with its figures; `spans` has the lines of each equation."""
        if any(thunk.grid for thunk in self.executable.thunks):
            return Unavailable('figures of a GPU\'s kernels are in `report.stage("sass")`')
        found = self.assembled()
        if isinstance(found, Unavailable):
            return found
        users = instructions_of(self.executable.thunks)
        return tuple([
            MachineKernel(
                one.name,
                users[one.name],
                tuple(sorted({n for i in self._equations(one.name) for n in spans.get(i, ())})),
                bytes=one.bytes,
                vector_bits=one.vector_bits,
                stack_stores=one.stack_stores,
                stack_loads=one.stack_loads,
            )
            for one in found
            if one.name in users
        ])  # fmt: skip

    def _equations(self, kernel: str) -> tuple[int, ...]:
        anchor = self.linked.get(kernel)
        return () if anchor is None else anchor.equations

    def no_kernel(self) -> Unavailable:
        libraries = dict.fromkeys(t.library for t in self.executable.thunks if t.library)
        runs = f": it runs in the {listed(list(libraries))} library" if libraries else ""
        return Unavailable(NO_KERNEL.format(runs))


def below_hlo(compiled: Any, module: HloModule, stage: Stage, stored: bytes = b"") -> BelowHlo:
    """Read the executable; raises ValueError where its form is unknown.

    `module` and `stage` are its optimized HLO; `stored` is the executable, where it was stored
    before it ran.
    """
    try:
        serialized = stored or _jax.serialized(compiled)
    except Exception as error:
        if "is not serializable" in str(error):
            raise ValueError("XLA cannot store a program with a sort once it has run") from None
        raise
    return linked_below(read_executable(serialized), module, stage)


def linked_below(executable: Executable, module: HloModule, stage: Stage) -> BelowHlo:
    """A program below its optimized HLO, which is `module` and `stage`."""
    instructions = instruction_anchors(module, stage)
    return BelowHlo(executable, instructions, kernel_anchors(executable.thunks, instructions))


def has_kernels(below: BelowHlo | Unavailable) -> bool:
    """Whether LLVM compiled a part of the program."""
    return isinstance(below, BelowHlo) and bool(below.executable.objects)


def below_hlo_stage(
    kind: StageKind,
    below: BelowHlo | Unavailable,
    llvm: Callable[[], LlvmModules | Unavailable],
) -> Stage:
    """A stage below the HLO of a program of this machine's devices."""
    if "cpu" not in kind.platforms:
        example = "tpu:v5e" if kind.platforms == ("tpu",) else "gpu:h100"
        why = f"it is of a program for a target: run with `--target {example}`"
        return Stage(kind, unavailable=Unavailable(why))
    if isinstance(below, Unavailable):
        return Stage(kind, unavailable=below)
    if kind is StageKind.THUNKS:
        return below.thunks()
    if kind is StageKind.ASM:
        return below.asm()
    if not below.executable.objects:
        return Stage(kind, unavailable=below.no_kernel())
    found = llvm()
    if isinstance(found, Unavailable):
        return Stage(kind, unavailable=found)
    return below.llvm(found, kind)
