"""Advice with evidence."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class FindingKind(StrEnum):
    """What a finding is about. A kind exists only if a test makes it fire."""

    TRACE_ONLY_EFFECT = "trace_only_effect"
    """A side effect that runs while tracing only: print, mutation, `np.random`, file writes."""
    BAKED_CONSTANT = "baked_constant"
    """An array captured as a constant of the program."""
    FOREIGN_CONSTANT = "foreign_constant"
    """A torch tensor, pandas object or other foreign array: static, baked in."""
    FOLDED = "folded"
    """Work that the compiler did once, at compile time."""
    UNROLLED_LOOP = "unrolled_loop"
    BATCHED_LOOP = "batched_loop"
    """Something that `vmap` can only do one example after the other."""
    BOTH_BRANCHES = "both_branches"
    """A choice that `vmap` makes by computing all branches."""
    TRAINING_LOOP = "training_loop"
    """A training loop inside the compiled program."""
    HOST_TRANSFER = "host_transfer"
    DISPATCH_BOUND = "dispatch_bound"
    MISSED_DONATION = "missed_donation"
    RESIDUALS = "residuals"
    """Memory filled with what a gradient keeps, and `jax.checkpoint` would forget."""
    RESHARDING = "resharding"
    """Data moved between devices because values do not lie as they are used."""
    REPEATED_WORK = "repeated_work"
    """The same work on several devices."""
    FLOAT64_DISABLED = "float64_disabled"
    CALLBACK = "callback"
    """A callback that loses the fast path of calls."""
    EAGER = "eager"
    """Code that ran operation by operation and should be jitted."""
    SLOW_TRACE = "slow_trace"
    """Tracing the cell took more than a second: it is paid on every run."""
    UNTAGGED = "untagged"
    """Links are not exact, or some detail was not available on this JAX."""
    MEASUREMENT = "measurement"
    """A doubt about a number of this report."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One piece of advice: what, where, what to do, and how we know."""

    kind: FindingKind
    line: int | None
    """Line of the cell (or of `source`), or None when it concerns the whole program."""
    message: str
    """What happens, as a sentence; code in backticks."""
    fix: str
    """What to change, as a sentence; code in backticks."""
    evidence: str
    """The observation behind it, with its figures."""
    source: int = 0
    """Index in `Record.sources`."""
