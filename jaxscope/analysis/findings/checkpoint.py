"""Memory that a gradient fills with what a checkpoint would forget."""

from __future__ import annotations

from collections.abc import Iterator

from jaxscope.analysis.findings.evidence import Evidence
from jaxscope.analysis.findings.source_code import Reading
from jaxscope.model import Checkpoint, Finding, FindingKind, Memory, Program
from jaxscope.words import size

SAVED_BYTES = 256_000_000
"""Less is no burden to a device of today; the report's chapter names it all the same."""
SAVED_SHARE = 0.3
"""Of the program's peak. In loops the estimate counts the equations, of which XLA may keep a third
less (layers of matrix products and tanh): the true saving is still worth the change."""
MOST_WORK = 0.5
"""Operations again, as a share of all. One more forward pass is a third of a training step."""


def checkpoint(evidence: Evidence, reading: Reading) -> Iterator[Finding]:
    """Residuals that make much of the peak, where `jax.checkpoint` would surely take them away."""
    for program in evidence.record.programs:
        found = program.differentiation
        if found is None or not isinstance(program.memory, Memory):
            continue
        every = found.forward + found.backward
        for advice in found.checkpoints:
            if (
                advice.saved >= max(SAVED_BYTES, SAVED_SHARE * program.memory.peak)
                and advice.operations <= MOST_WORK * every
                and _is_obeyed(advice, program)
            ):
                yield _finding(advice, program.memory, every)
                break


def _is_obeyed(advice: Checkpoint, program: Program) -> bool:
    """Outside loops XLA for the CPU may find what was computed before, and keep it."""
    return advice.loop or not any(device.startswith("cpu") for device in program.devices)


def _finding(advice: Checkpoint, memory: Memory, every: float) -> Finding:
    name = advice.function.rpartition("<locals>.")[2]
    share = advice.operations / every if every else 0.0
    return Finding(
        FindingKind.RESIDUALS,
        advice.line,
        f"The backward pass keeps what `{name}` computed in all its {advice.calls:g} calls until "
        "it needs it.",
        f"Wrap it: `jax.checkpoint({name})` computes it again, one call at a time, instead of "
        "keeping it; a `policy` chooses what to keep.",
        f"About {size(advice.saved)} of the peak of {size(memory.peak)}, for {share:.0%} more "
        "operations: an estimate.",
        advice.source,
    )
