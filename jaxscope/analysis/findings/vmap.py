"""Operations that `vmap` cannot batch."""

from collections.abc import Iterator

from jaxscope.analysis.findings.evidence import Evidence, TracedCode
from jaxscope.analysis.vmap.lines import place_of
from jaxscope.model import Batching, BatchingResult, Finding, FindingKind
from jaxscope.words import count

_BATCHED_CALLBACK = (
    "Let it take the whole batch, with `vmap_method='expand_dims'` or `'broadcast_all'`."
)
_FIXES = {
    "pure_callback": _BATCHED_CALLBACK,
    "ffi_call": _BATCHED_CALLBACK,
    "io_callback": "Call it once with the whole batch, outside the function under `vmap`.",
    "custom_vmap": "Write a rule for the whole batch with `jax.custom_batching.custom_vmap`.",
}


def vmap(evidence: Evidence, traced: TracedCode) -> Iterator[Finding]:
    """Loops that a batching rule inserted, and conditionals that became selects."""
    for program in evidence.record.programs:
        batching = program.vmap
        if not isinstance(batching, Batching):
            continue
        for each in batching.equations:
            # Examples along the innermost axis that the equation depends on.
            size = batching.axes[each.over[-1]].size if each.over else None
            if not each.function or size is None or size < 2:
                continue
            source, line = place_of(program.equations[each.equation]) or (0, None)
            if each.result is BatchingResult.SEQUENTIAL_LOOP:
                yield Finding(
                    FindingKind.SEQUENTIAL_VMAP,
                    line,
                    f"`{each.function}` runs once per example: `vmap` turned it into a sequential "
                    "loop.",
                    _FIXES.get(
                        each.function, "Use a form that takes a batch, or move it out of `vmap`."
                    ),
                    f"{program.title} loops over a batch of {count(size, 'example')}.",
                    source=source,
                )
            elif each.result is BatchingResult.SELECT_ALL_BRANCHES:
                number = each.detail.partition(" ")[0]
                branches = "both branches" if number == "2" else f"all {number} branches"
                yield Finding(
                    FindingKind.COND_TO_SELECT,
                    line,
                    f"`{each.function}` became a `select` under `vmap`, so {branches} run for "
                    "every example.",
                    "If all examples take the same branch, pass the predicate with `in_axes=None`. "
                    "If one branch is expensive, use `jax.lax.map`.",
                    f"Its predicate depends on the batch of {count(size, 'example')}.",
                    source=source,
                )
