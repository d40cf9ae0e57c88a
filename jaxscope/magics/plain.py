"""The last step down: the cell as IPython itself would have run it."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jaxscope.capture.cell import CellText


def execute(text: CellText, namespace: MutableMapping[str, Any]) -> Any:
    """Run the cell as plain Python and return the value of its last expression."""
    __tracebackhide__ = True
    statements, expression = text.code()
    exec(statements, namespace)  # type: ignore[arg-type]
    if expression is None:
        return None
    value = eval(expression, namespace)  # type: ignore[arg-type]
    return None if text.silenced else value
