"""What only a differentiated program can show: what it keeps, and what it could forget."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class ResidualKind(StrEnum):
    """Where a value that is kept for the backward pass comes from."""

    ARGUMENT = "argument"
    """An input of the program: it is there anyway."""
    CONSTANT = "constant"
    """Captured by the program: it is there anyway."""
    OUTPUT = "output"
    """The output of an equation."""
    NAMED = "named"
    """The output of an equation that `jax.ad_checkpoint.checkpoint_name` named."""
    CARRIED = "carried"
    """A value that the loop around brings from its last round, or a slice of what it runs over."""


@dataclass(frozen=True, slots=True)
class Residual:
    """One value that the forward pass keeps for the backward pass."""

    aval: str
    """`f32[4,8]`; with the rounds in front where a loop keeps one for each."""
    bytes: int
    kind: ResidualKind
    origin: str
    """The argument's name, the primitive that made it, or the name it was given."""
    equation: int | None
    """The innermost equation that made it; None for arguments and constants."""
    used_by: int
    """The first equation of the backward pass that reads it."""
    rounds: int | None = None
    """How many rounds of a loop it was stacked from; None when it was not."""
    derivatives: tuple[int, ...] = (0,)
    """Which derivatives keep it, where one is taken of another: 0 is the outermost."""
    call: int = 0
    """Which of several gradients in a row keeps it; each lets go of its own."""
    parent: int | None = None
    """The equation in whose body it lives and dies: a loop that takes a gradient in each round."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What `jax.checkpoint` on one function would change: an estimate."""

    function: str
    """Its qualified name."""
    source: int
    """Index in `Record.sources`."""
    line: int
    """The first line of its body that computes."""
    end_line: int
    calls: float
    """How often the program calls it, rounds of loops included."""
    saved: int
    """Bytes less while the memory is fullest: all that is made inside and handed on to the backward
    pass, less what its calls then have to keep, and less those of one call, which come back."""
    kept: int
    """Bytes that the calls have to keep instead: their inputs."""
    operations: float
    """Arithmetic operations that a run of the program has to do again."""
    loop: bool = False
    """The calls are rounds of a loop of the program (`scan`). XLA for the CPU undoes a checkpoint
    elsewhere: it finds that the same was computed before, and keeps it."""


@dataclass(frozen=True, slots=True)
class Jacobian:
    """A Jacobian that the program builds, and what the other mode would do. Estimated."""

    reverse: bool
    """Built row by row, by backward passes; else column by column, by forward passes."""
    passes: int
    """Rows or columns: how many passes it takes."""
    other: int | None
    """How many the other mode would take; None when the program's outputs do not tell."""
    primal: float
    """Operations of computing the function once."""
    linear: float
    """Operations of one pass. A linear map costs as much as its transpose, so this is the
    estimate for the other mode as well."""


@dataclass(frozen=True, slots=True)
class Differentiation:
    """What a program does to differentiate."""

    residuals: tuple[Residual, ...]
    """In the order in which the backward passes need them last: as made."""
    forward: float
    """Operations of the forward passes, from the equations."""
    backward: float
    """Operations of the backward passes, what `jax.checkpoint` does again included."""
    recompute: float
    """Operations that `jax.checkpoint` does again."""
    checkpoints: tuple[Checkpoint, ...] = ()
    """What could be checkpointed, the greatest saving first."""
    jacobian: Jacobian | None = None

    def kept(self, derivative: int = 0) -> tuple[Residual, ...]:
        """The residuals of one derivative: what JAX's own listing shows for the outermost one."""
        return tuple([r for r in self.residuals if derivative in r.derivatives])

    @property
    def bytes(self) -> int:
        """Bytes of all residuals, arguments and constants among them."""
        return sum(residual.bytes for residual in self.residuals)

    @property
    def new_bytes(self) -> int:
        """Bytes of those that are there for the backward pass alone."""
        there = (ResidualKind.ARGUMENT, ResidualKind.CONSTANT)
        return sum(residual.bytes for residual in self.residuals if residual.kind not in there)


@dataclass(frozen=True, slots=True)
class DerivativeMode:
    """The Jacobian of a function in one mode."""

    passes: int
    """Forward mode takes one for each input number, reverse mode one for each output number."""
    operations: float
    """Of building the whole Jacobian once, from the equations: XLA may do fewer."""
    equations: int
    """Of its jaxpr, at all depths."""
    seconds: float | None = None
    """Median of a call; None when it was not timed."""


@dataclass(frozen=True, slots=True)
class DerivativeOrder:
    """One derivative of a derivative."""

    order: int
    """0 is the function itself."""
    by: str
    """How it was taken of the order before: `grad`, `jacfwd`, `jacrev`; empty for the function."""
    equations: int
    operations: float


@dataclass(frozen=True, slots=True)
class DerivativeModes:
    """Forward mode and reverse mode of one function, side by side."""

    inputs: int
    """Numbers in what is differentiated."""
    outputs: int
    """Numbers in the result."""
    forward: DerivativeMode
    reverse: DerivativeMode
    orders: tuple[DerivativeOrder, ...] = ()
    """How the program grows with the order of the derivative."""

    @property
    def fits(self) -> str:
        """`forward` or `reverse`: the faster one where both were timed, else the one with fewer
        operations, and of equals the one that keeps nothing for later."""
        one, other = self.forward.seconds, self.reverse.seconds
        if one is None or other is None:
            one, other = self.forward.operations, self.reverse.operations
        return "forward" if one <= other else "reverse"
