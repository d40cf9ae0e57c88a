"""Residuals, work by phase, checkpoints and Jacobians of a differentiated program."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from enum import StrEnum


class ResidualKind(StrEnum):
    """The source of a value that is saved for the backward pass."""

    ARGUMENT = "argument"
    """An input of the program: it takes no extra memory."""
    CONSTANT = "constant"
    """Captured by the program: it takes no extra memory."""
    OUTPUT = "output"
    """The output of an equation."""
    NAMED = "named"
    """The output of an equation that `jax.ad_checkpoint.checkpoint_name` named."""
    CARRIED = "carried"
    """A value that the loop around it carries, or a slice of the arrays it scans."""


@dataclass(frozen=True, slots=True)
class Residual:
    """One value of the forward pass that is saved for the backward pass."""

    aval: str
    """`f32[4,8]`; with a leading dimension where a loop saves one per iteration."""
    bytes: int
    kind: ResidualKind
    origin: str
    """The argument's name, the primitive that made it, or the name it was given."""
    equation: int | None
    """The innermost equation that made it; None for arguments and constants."""
    _: KW_ONLY
    used_by: int
    """The first equation of the backward pass that reads it."""
    iterations: int | None = None
    """Iterations of the loop that it is stacked from; None when it is not stacked."""
    derivatives: tuple[int, ...] = (0,)
    """The derivatives that save it, where derivatives nest: 0 is the outermost."""
    call: int = 0
    """Number of the gradient that saves it, of several in a row; each frees its own."""
    parent: int | None = None
    """The equation in whose body it lives: a loop that takes a gradient in each iteration."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The estimated effect of `jax.checkpoint` on one function."""

    function: str
    """Its qualified name."""
    source: int
    """Index in `Record.sources`."""
    line: int
    """The first line of its body that computes."""
    end_line: int
    calls: float
    """Calls in one run of the program, loop iterations included."""
    _: KW_ONLY
    freed_bytes: int
    """Reduction of peak memory: the residuals of all calls, less the inputs that are saved instead,
    less the residuals of one call, which are rematerialized."""
    saved_bytes: int
    """Inputs of the calls, which are saved instead."""
    flops: float
    """FLOPs that a run of the program repeats."""
    loop: bool = False
    """The calls are iterations of a loop of the program (`scan`). Elsewhere XLA for the CPU undoes
    a checkpoint: it finds the common subexpression and keeps the value."""


@dataclass(frozen=True, slots=True)
class Jacobian:
    """A Jacobian that the program builds, and an estimate for the other mode."""

    reverse: bool
    """Built row by row from VJPs; else column by column from JVPs."""
    products: int
    """VJPs (one per output number) or JVPs (one per input number)."""
    other_products: int | None
    """Products that the other mode would need; None when the program's outputs do not tell."""
    primal_flops: float
    """FLOPs of computing the function once."""
    product_flops: float
    """FLOPs of one product. A linear map costs as much as its transpose, so this is the estimate
    for the other mode as well."""


@dataclass(frozen=True, slots=True)
class Gradient:
    """The derivatives of a program."""

    residuals: tuple[Residual, ...]
    """In the order in which they are made."""
    forward_flops: float
    """FLOPs of the forward passes, from the equations; a primitive of unknown cost counts as
    nothing."""
    backward_flops: float
    """FLOPs of the backward passes, rematerialization included."""
    rematerialized_flops: float
    """FLOPs that `jax.checkpoint` repeats."""
    checkpoints: tuple[Checkpoint, ...] = ()
    """Functions worth a checkpoint, the greatest reduction first."""
    _: KW_ONLY
    jacobian: Jacobian | None = None

    def saved(self, derivative: int = 0) -> tuple[Residual, ...]:
        """The residuals of one derivative: JAX's own listing, for the outermost one."""
        return tuple([r for r in self.residuals if derivative in r.derivatives])

    @property
    def bytes(self) -> int:
        """Bytes of all residuals, arguments and constants among them."""
        return sum(residual.bytes for residual in self.residuals)

    @property
    def new_bytes(self) -> int:
        """Bytes of the residuals that are neither arguments nor constants."""
        there = (ResidualKind.ARGUMENT, ResidualKind.CONSTANT)
        return sum(residual.bytes for residual in self.residuals if residual.kind not in there)


@dataclass(frozen=True, slots=True)
class DerivativeMode:
    """The Jacobian of a function in one mode."""

    products: int
    """JVPs in forward mode (one per input number), VJPs in reverse mode (one per output number)."""
    flops: float
    """FLOPs of building the whole Jacobian once, from the equations: XLA may do fewer."""
    equations: int
    """Of its jaxpr, at all depths."""
    seconds: float | None = None
    """Median per call; None when it was not timed."""


@dataclass(frozen=True, slots=True)
class DerivativeOrder:
    """One derivative of a derivative."""

    order: int
    """0 is the function itself."""
    by: str
    """The transform of the order before: `grad`, `jacfwd`, `jacrev`; empty for the function."""
    equations: int
    flops: float


@dataclass(frozen=True, slots=True)
class DerivativeModes:
    """Forward mode and reverse mode of one function, side by side."""

    inputs: int
    """Numbers in the differentiated inputs."""
    outputs: int
    """Numbers in the result."""
    forward: DerivativeMode
    reverse: DerivativeMode
    orders: tuple[DerivativeOrder, ...] = ()
    """Growth of the program with the order of the derivative."""

    @property
    def fits(self) -> str:
        """`forward` or `reverse`: the faster one where both were timed, else the one with fewer
        FLOPs; of equals the forward mode, which saves no residuals."""
        one, other = self.forward.seconds, self.reverse.seconds
        if one is None or other is None:
            one, other = self.forward.flops, self.reverse.flops
        return "forward" if one <= other else "reverse"
