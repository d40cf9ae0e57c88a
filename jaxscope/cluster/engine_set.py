"""The processes behind a cluster, whatever started them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol


class EngineSet(Protocol):
    """The processes behind a cluster, one per engine, in a fixed order."""

    def __len__(self) -> int: ...

    def call(self, function: Any, arguments: Sequence[tuple[Any, ...]], wait_s: float) -> list[Any]:
        """Results of one call per engine; None for those that did not answer in time.

        Raises ClusterError for an engine that died, and what the call raised.
        """
        ...

    def run(
        self, function: Any, arguments: Mapping[int, tuple[Any, ...]], say: Callable[[str], None]
    ) -> dict[int, Any]:
        """Results of a call on these engines, however long it takes.

        `say` gets what they report meanwhile. An interrupt is passed on to the engines. Raises as
        `call`.
        """
        ...

    def check(self) -> None:
        """Raises ClusterError where an engine died, or is lost in a cell that was interrupted."""
        ...

    def restart(self) -> None:
        """Restart every engine; their names are lost."""
        ...

    def activate(self) -> None:
        """Make `%%px` run on all of them, where the launcher has that magic."""
        ...
