"""A comparison as one offline file: the viewer with both reports' texts in it."""

from __future__ import annotations

from typing import Any

from jaxscope.model.diff import DiffRecord
from jaxscope.view.diff.html import static_html
from jaxscope.view.diff.summary import first_parts
from jaxscope.view.page import around


def page(record: DiffRecord, payload: dict[str, Any]) -> str:
    """The payload, which should be whole, with the viewer around it."""
    return around(first_parts(record)[0], static_html(record), payload)
