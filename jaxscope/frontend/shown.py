"""Protocols of the results that a front end can show."""

from __future__ import annotations

from typing import Any, Protocol

from jaxscope.model import Program, Stage


class ShownResult(Protocol):
    """A result with a payload for the viewer and a display for a saved notebook."""

    def payload(self) -> dict[str, Any]:
        """The result as the viewer reads it."""
        ...

    def bundle(self, *, viewer: bool = True) -> dict[str, Any]:
        """The displays by MIME type."""
        ...


class ShownReport(ShownResult, Protocol):
    """A report: the viewer requests its texts and figures later."""

    @property
    def id(self) -> str:
        """The identifier of the report in requests."""
        ...

    @property
    def programs(self) -> tuple[Program, ...]:
        """The compiled programs, the costliest first."""
        ...

    def stage(self, kind: str, program: int = 0) -> Stage:
        """One text of a program."""
        ...

    def price(self, kind: str, program: int = 0) -> float | None:
        """Seconds of the compilation that a text needs."""
        ...

    def passes(self, program: int = 0) -> Any:
        """The passes of XLA over a program, or the reason why there are none."""
        ...

    def plot(self, kind: Any = "stack") -> Any:
        """A plotly figure of the profile."""
        ...

    def payload(self, report_id: str = "") -> dict[str, Any]:
        """The report as the viewer reads it."""
        ...
