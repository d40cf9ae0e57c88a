"""The last step down: the cell as IPython itself would have run it."""

from __future__ import annotations

import time
from collections.abc import MutableMapping
from typing import TYPE_CHECKING, Any

from jaxscope.model import Form, Source, SourceKind

if TYPE_CHECKING:
    from jaxscope.capture.cell import CellText
    from jaxscope.capture.run import Ran


def run(text: CellText, namespace: MutableMapping[str, Any], why: str) -> Ran:
    """Run the cell as plain Python, after jaxscope itself failed; `why` goes into the one line."""
    __tracebackhide__ = True
    from jaxscope.capture import bare
    from jaxscope.capture.run import Ran

    began = time.perf_counter()
    statements, expression = text.code()
    exec(statements, namespace)  # type: ignore[arg-type]
    value = None if expression is None else eval(expression, namespace)  # type: ignore[arg-type]
    failure = f"jaxscope could not compile this cell ({why}), so it ran as plain Python."
    source = Source("cell", text.file, SourceKind.CELL, text.text)
    wall_s = time.perf_counter() - began
    record = bare.record("cell", Form.PLAIN, (source,), (failure,), wall_s)
    return Ran(None if text.silenced else value, record, (), failure)
