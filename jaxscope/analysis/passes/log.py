"""The changes of all passes as one text, every instruction linked to its equations."""

from __future__ import annotations

from collections.abc import Mapping

from jaxscope.analysis.links.attribution import Equations
from jaxscope.analysis.links.tags import without_tags
from jaxscope.analysis.passes.follow import changes_of
from jaxscope.analysis.passes.rewrites import Difference
from jaxscope.analysis.passes.snapshots import Snapshots, named_lines, plain
from jaxscope.analysis.passes.trail import Trail, shared_values, without
from jaxscope.model import Anchor
from jaxscope.model.compiler.passes import CompilerPass, PassEffect

MOST_LINES = 1000
"""Instructions of one pass that are listed: an inlined program has all of them."""


MOST_FOLLOWED = 15_000
"""Lines of a program whose instructions are listed: following 36 000 takes 5 s."""


def pass_headings(snapshots: Snapshots) -> str | None:
    """The passes alone, of a program that is too large for `pass_log`; None for a smaller one."""
    lines = max(len(text) for text in snapshots.texts())
    if lines <= MOST_FOLLOWED:
        return None
    found = [_heading(one) for one in snapshots.passes]
    rest = f"{lines} lines: `report.passes().follow(line)` follows a line through them."
    return "\n".join([*found, "", rest])


def pass_log(snapshots: Snapshots, trail: Trail) -> tuple[str, tuple[Anchor, ...]]:
    """Each pass that changed the program, and below it what it did to which instructions.

    Raises LookupError where a text was not kept.
    """
    lines: list[str] = []
    anchors: list[Anchor] = []
    known = dict(trail.first)
    texts = named_lines(snapshots)
    before = next(texts)
    for one, step, after in zip(snapshots.passes, trail.steps, texts, strict=True):
        later = _after(step.difference, known, step.equations)
        lines.append(_heading(one))
        end = len(lines) + MOST_LINES
        for kind, old, new, into in changes_of(step.difference, before.keys(), after.keys()):
            what = f"{kind.value} into %{into}" if into else kind.value
            lines.append(f"  {what}")
            sign = "=" if kind is PassEffect.MERGED else "+"
            sides = (("-", old, before, known), (sign, new, after, later))
            for mark, names, texts, equations in sides:
                for name in names:
                    text = plain(texts.get(name, f"%{name}")).removeprefix("ROOT ")
                    lines.append(f"    {mark} {without_tags(text)}")
                    if found := equations.get(name):
                        anchors.append(Anchor(len(lines), found))
            if len(lines) >= end:
                lines.append(f"  … the rest is in `report.passes().after({one.number})`")
                break
        lines.append("")
        before, known = after, later
    return "\n".join(lines), tuple(anchors)


def _after(
    changed: Difference, known: Equations, new: Mapping[str, tuple[int, ...]]
) -> dict[str, tuple[int, ...]]:
    """The equations of the instructions after a pass."""
    # One that took the place of others is no longer of its own equation alone.
    return without(known, changed.lost | shared_values(changed, known)) | dict(new)


def _heading(one: CompilerPass) -> str:
    return f"{one.number} · {one.name} · {_figures(one)}"


def _figures(one: CompilerPass) -> str:
    found: Mapping[str, int] = {"+": one.added, "−": one.removed, "~": one.altered}
    counts = [f"{sign}{number}" for sign, number in found.items() if number]
    return f"{one.pipeline} · {' '.join(counts)}"
