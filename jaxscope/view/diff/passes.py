"""The program before and after a pass of XLA: as text, and as the viewer reads it."""

from __future__ import annotations

from typing import Any

from jaxscope import words
from jaxscope.model import StageKind
from jaxscope.model.compiler.passes import PassComparison
from jaxscope.view.base.document import SEPARATOR, Chapter, Part
from jaxscope.view.diff.document import drawn


def pass_title(data: PassComparison) -> str:
    """`9 · gemv-rewriter · 10 changed lines`."""
    one, number = data.compiler_pass, sum(len(group.changes) for group in data.groups)
    changed = words.count(number, "changed line")
    return SEPARATOR.join([str(one.number), one.name, one.pipeline, changed])


def pass_chapter(data: PassComparison) -> Chapter:
    """The changed lines by what the pass did."""
    parts: list[Part] = []
    for group in data.groups:
        drawing, picture = drawn(group.changes)
        parts.append(Part(group.caption, picture=picture, drawing=drawing, brief=True))
    return Chapter("passes", "", parts=tuple(parts))


def pass_payload(data: PassComparison) -> dict[str, Any]:
    """A `StageDiffJson`."""
    return {
        "kind": StageKind.HLO,
        "title": pass_title(data),
        "lead": [],
        "before": data.before,
        "after": data.after,
        "groups": [
            {"caption": group.caption, "changes": [[c.before, c.after] for c in group.changes]}
            for group in data.groups
        ],
    }
