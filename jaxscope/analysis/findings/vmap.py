"""Where `vmap` cannot work on all examples at once, or does more than each of them needs."""

from __future__ import annotations

from collections.abc import Iterator

from jaxscope.analysis.findings.evidence import Evidence
from jaxscope.analysis.findings.source_code import Reading
from jaxscope.analysis.vmap import place_of
from jaxscope.model import BatchedEquation, Batching, Finding, FindingKind, Program, Turn
from jaxscope.words import count

_CURES = {
    "pure_callback": "Let the function take the whole batch, and say so with "
    "`vmap_method='expand_dims'` or `'broadcast_all'`.",
    "ffi_call": "Let the call take the whole batch, and say so with "
    "`vmap_method='expand_dims'` or `'broadcast_all'`.",
    "io_callback": "Call it once with the whole batch, outside the function under `vmap`.",
    "custom_vmap": "Write a rule for the whole batch with `jax.custom_batching.custom_vmap`.",
}


def batching(evidence: Evidence, reading: Reading) -> Iterator[Finding]:
    """Loops that batching put in, and branches that are all computed."""
    for program in evidence.record.programs:
        if isinstance(program.batching, Batching):
            for each in program.batching.equations:
                if each.turn is Turn.LOOP and each.cause:
                    yield from _loop(program, program.batching, each)
                elif each.turn is Turn.BOTH_BRANCHES and each.cause:
                    yield from _branches(program, program.batching, each)


def _loop(program: Program, batching: Batching, each: BatchedEquation) -> Iterator[Finding]:
    size = _examples(batching, each)
    if size is None or size < 2:
        return
    source, line = place_of(program.equations[each.equation]) or (0, None)
    yield Finding(
        FindingKind.BATCHED_LOOP,
        line,
        f"`{each.cause}` runs once for every example: batching made a loop of it.",
        _CURES.get(each.cause, "Use a form of it that takes a batch, or keep it out of `vmap`."),
        f"The loop of {program.title} has {each.detail}.",
        source,
    )


def _branches(program: Program, batching: Batching, each: BatchedEquation) -> Iterator[Finding]:
    size = _examples(batching, each)
    if size is None or size < 2:
        return
    source, line = place_of(program.equations[each.equation]) or (0, None)
    branches = "both branches" if each.detail == "2 branches" else f"all {each.detail}"
    yield Finding(
        FindingKind.BOTH_BRANCHES,
        line,
        f"`{each.cause}` computes {branches} for every example, because under `vmap` its choice "
        "differs from one to the next.",
        "If all examples choose alike, let the choice depend on an argument with `in_axes=None`; "
        "if one branch is much dearer, go through the examples with `jax.lax.map` instead.",
        f"What it chooses by depends on the batch of {count(size, 'example')}, so "
        f"{program.title} computes {branches} and selects.",
        source,
    )


def _examples(batching: Batching, each: BatchedEquation) -> int | None:
    """Along the innermost axis that it depends on."""
    return batching.axes[each.over[-1]].size if each.over else None
