"""What a run happens in, and what it gives."""

from __future__ import annotations

from collections.abc import Callable, MutableMapping
from dataclasses import dataclass, field
from typing import Any

from jaxscope.capture.compiles.listener import Listener
from jaxscope.capture.program.compile import Programs
from jaxscope.capture.timing.peaks import PeakCache
from jaxscope.model import Record, TextSource

Say = Callable[[str], None]


def _silent(phase: str) -> None:
    """Nobody watches."""


@dataclass(frozen=True, slots=True)
class RunContext:
    """What a run happens in."""

    namespace: MutableMapping[str, Any]
    listener: Listener
    peaks: PeakCache
    cell_name: Callable[[str], str | None] = lambda file: None
    programs: Programs | None = None
    say: Say = _silent


@dataclass(frozen=True, slots=True)
class Ran:
    """What a run gave."""

    value: Any
    record: Record
    texts: tuple[TextSource, ...] = field(repr=False)
    failure: str = ""
    """One line that says what jaxscope could not do; empty when all is well."""
    error: BaseException | None = None
    """What the user's code raised, where the record tells of what ran until then."""
