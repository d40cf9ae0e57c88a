"""The three figures of a cost."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Cost:
    """What one run of something costs."""

    flops: float = 0.0
    transcendentals: float = 0.0
    bytes_accessed: float = 0.0

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(
            self.flops + other.flops,
            self.transcendentals + other.transcendentals,
            self.bytes_accessed + other.bytes_accessed,
        )

    def __mul__(self, times: float) -> "Cost":
        return Cost(self.flops * times, self.transcendentals * times, self.bytes_accessed * times)

    def most(self, other: "Cost") -> "Cost":
        """The larger of each figure by itself, as XLA does for the branches of a conditional."""
        return Cost(
            max(self.flops, other.flops),
            max(self.transcendentals, other.transcendentals),
            max(self.bytes_accessed, other.bytes_accessed),
        )
