"""To be gone: `document` has the form."""

from __future__ import annotations

from collections.abc import Callable

from jaxscope.model import Program, Record
from jaxscope.view.base.document import Chapter as Chapter
from jaxscope.view.base.document import Part as Part

Writer = Callable[[Record, Program], Chapter | None]
