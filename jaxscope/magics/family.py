"""A family of magics: one subject, one class, one row in the table that is loaded and unloaded."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from IPython.core.magic import Magics, magics_class

if TYPE_CHECKING:
    from jaxscope.magics.session.session import Session

Completer = Callable[[Any, Any], list[str]]


class MagicScope(Protocol):
    """The defaults of all magics (traits of `%config JaxScope`) and the session."""

    view: Any
    runs: Any
    device: Any
    quiet: Any
    footer_s: Any
    raw_cell: str
    session: Session


@magics_class
class Family(Magics):
    """What every family has: the shell, and `scope` with the defaults and the session.

    A new family is a class in a file of its own and one entry in `FAMILIES`. It overrides what it
    needs of the methods below; the magics themselves are marked as IPython does.
    """

    def __init__(self, shell: Any, scope: MagicScope) -> None:
        super().__init__(shell=shell)
        self._shell = shell
        self.scope = scope

    def completers(self) -> dict[str, Completer]:
        """Handlers of completion by the start of the line: `{"%%jaxjit": handler}`."""
        return {}

    def before_cell(self, info: Any) -> None:
        """Called before each cell runs, with IPython's ExecutionInfo."""

    def after_cell(self, result: Any) -> None:
        """Called after each cell has run, with IPython's ExecutionResult."""

    def close(self) -> None:
        """Take back what the family itself installed; called once, on unload."""
