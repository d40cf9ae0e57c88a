"""The error of processes that compile different programs."""

from jaxscope.model.cluster import ProgramDifference


class Divergence(RuntimeError):
    """Processes do different things; raised on each of them before the program runs."""

    def __init__(self, found: ProgramDifference) -> None:
        super().__init__(found.message)
        self.kind = found.kind
