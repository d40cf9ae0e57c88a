"""The program as it runs: thunks and kernels."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass


@dataclass(frozen=True, slots=True)
class Thunk:
    """One step of XLA's plan for the run."""

    kind: str
    """XLA's name: `kernel`, `ynn-fusion`, `copy`, `while` …"""
    instruction: str
    """Its instruction of the optimized HLO, without the `%`."""
    _: KW_ONLY
    kernel: str = ""
    """The function of the machine code that it calls; instructions that are the same share one."""
    target: str = ""
    """Of a custom call: its target."""
    library: str = ""
    """The library that does its work, for which there is neither LLVM IR nor machine code."""
    depth: int = 0
    """Number of loops, branches and calls around it."""
    branch: str = ""
    """Its part of the loop or the branch around it: `condition`, `body`, `branch 0` …"""
    grid: tuple[int, ...] = ()
    """Of a kernel of a GPU: its thread blocks by dimension."""
    threads: tuple[int, ...] = ()
    """Of a kernel of a GPU: threads of a block by dimension."""
    shared_memory: int = 0
    """Of a kernel of a GPU: bytes of shared memory per block that the launch asks for."""


@dataclass(frozen=True, slots=True)
class MachineKernel:
    """One function of the machine code."""

    name: str
    instructions: tuple[str, ...]
    """The instructions of the optimized HLO that run it."""
    lines: tuple[int, ...]
    """The lines of the cell that these come from."""
    _: KW_ONLY
    bytes: int
    """Length of its machine code."""
    vector_bits: int | None
    """Width of its widest vector instruction; 0 where all are scalar, None where only the machine
    knows it (SVE)."""
    stack_stores: int | None
    """Stores to fixed places of the stack: spilled registers, and small arrays that LLVM keeps
    there. Registers that are saved for the caller do not count; None where they look the same
    (AArch64)."""
    stack_loads: int | None
    """Loads from there."""
