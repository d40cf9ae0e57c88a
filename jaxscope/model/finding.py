"""Advice with evidence."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from enum import StrEnum


class FindingKind(StrEnum):
    """The subject of a finding.

    Reports list findings in the order of these members: wrong results first, then what costs most,
    then caveats about the report itself.
    """

    TRACE_TIME_SIDE_EFFECT = "trace_time_side_effect"
    """Impure Python: a print, a mutation, `np.random` or a file write that runs only at trace
    time."""
    FLOAT64_DISABLED = "float64_disabled"
    """A 64-bit type was requested while `jax_enable_x64` is off."""
    KEY_REUSE = "key_reuse"
    """A random key that is used twice, or in every iteration of a loop."""
    NAN_GRADIENT = "nan_gradient"
    """A `where` that discards a value but not the NaN of its gradient."""
    EXP_OVERFLOW = "exp_overflow"
    """A softmax or a log-sum-exp without its maximum subtracted."""
    NON_JAX_CONSTANT = "non_jax_constant"
    """A torch tensor, a pandas object or another non-JAX array, captured as a constant."""
    TRAINING_LOOP = "training_loop"
    """A training loop unrolled inside the compiled program."""
    UNROLLED_LOOP = "unrolled_loop"
    SEQUENTIAL_VMAP = "sequential_vmap"
    """An operation that `vmap` runs once per example."""
    SEQUENTIAL_MAP = "sequential_map"
    """A loop of matrix–vector products that a batch would do as one matrix product."""
    TYPE_PROMOTION = "type_promotion"
    """A product in float32, because a scalar of that type met a narrower array."""
    COND_TO_SELECT = "cond_to_select"
    """A `cond` or `switch` with a batched predicate: all branches run."""
    CAPTURED_CONSTANT = "captured_constant"
    """A closed-over array, embedded in the program as a constant."""
    CONSTANT_FOLDED = "constant_folded"
    """A program that XLA evaluated at compile time."""
    FULL_SORT = "full_sort"
    """A sort of which only the first or last few elements are read."""
    ONE_HOT_MATMUL = "one_hot_matmul"
    """A product with a one-hot matrix that looks up rows of a table."""
    EXPLICIT_INVERSE = "explicit_inverse"
    """A matrix inverse for a single product."""
    MASKED_REDUCTION = "masked_reduction"
    """A reduction of elements that `nonzero` picks, where a mask would do."""
    SLOW_TRACING = "slow_tracing"
    """More than a second of tracing, on every run of the cell."""
    EAGER = "eager"
    """Operations dispatched one by one, outside `jax.jit`."""
    CALLBACK = "callback"
    """A Python callback, which takes calls off JAX's fast path."""
    HOST_TRANSFER = "host_transfer"
    RESHARDING = "resharding"
    """Communication that XLA inserts because shardings do not match."""
    REPLICATED_COMPUTATION = "replicated_computation"
    """The same matrix products on several devices."""
    MISSED_DONATION = "missed_donation"
    SAVED_RESIDUALS = "saved_residuals"
    """Residuals of a gradient that fill the memory and that `jax.checkpoint` would recompute."""
    HOST_BOUND = "host_bound"
    """Calls whose time is mostly dispatch."""
    UNCERTAIN_FIGURE = "uncertain_figure"
    """A noisy time, or a count that is partly estimated."""
    APPROXIMATE_SOURCE_MAPPING = "approximate_source_mapping"
    """Links between source lines and instructions that no tag confirms."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One piece of advice: the line, the problem, the fix and the evidence."""

    kind: FindingKind
    line: int | None
    """Line of the cell (or of `source`), or None when it concerns the whole program."""
    message: str
    """The problem, in one sentence; code in backticks."""
    fix: str
    """The change to make, in one or two sentences; code in backticks."""
    evidence: str
    """The observation behind it, with its figures."""
    _: KW_ONLY
    source: int = 0
    """Index in `Record.sources`."""
