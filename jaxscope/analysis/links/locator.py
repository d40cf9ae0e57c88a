"""The equations that a name stack refers to: by its tags, else by its name and Python frames."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from jaxscope.analysis.hlo import HloFrame
from jaxscope.analysis.links.tags import (
    NO_MATCH,
    TagMatch,
    TagPath,
    TagPaths,
    tags_of,
    without_tags,
)
from jaxscope.model import Equation

STALE = (
    "the compiled program has tags of a different one, so its lines are matched by primitive and "
    "name"
)

_MOST = 64
"""A longer list of candidates is useless; the line then has no link."""

# Words that only lowering adds to a name stack.
_OF_LOWERING = frozenset({"body", "closed_call", "eval_jaxpr", "core_call", "checkpoint", "while"})


class Candidates:
    """Equations by primitive, source line and name stack, for untagged names."""

    def __init__(self, equations: Sequence[Equation]) -> None:
        self._equations = equations
        self._by_primitive: dict[str, list[int]] = {}
        self._by_line: dict[tuple[str, int], list[int]] = {}
        self._files: set[str] = set()
        for equation in equations:
            self._by_primitive.setdefault(equation.primitive, []).append(equation.id)
            if equation.frames:
                frame = equation.frames[0]
                self._by_line.setdefault((frame.file, frame.span.line), []).append(equation.id)
                self._files.update(f.file for f in equation.frames)

    def primitive(self, equation: int) -> str:
        return self._equations[equation].primitive

    def find(self, name: str, frames: Iterable[HloFrame]) -> tuple[int, ...]:
        """Ids of the equations that fit an instruction's name stack and Python frames best."""
        *scope, primitive = _words(without_tags(name)) or [""]
        frame = next((f for f in frames if f.file in self._files), None)
        same_primitive = self._by_primitive.get(primitive, [])
        if frame is None:
            return self._narrow(same_primitive, scope, None)
        here = self._by_line.get((frame.file, frame.line), [])
        both = sorted(set(here) & set(same_primitive))
        if not both and same_primitive:
            # The primitive is on a different line, so the frame is wrong.
            return self._narrow(same_primitive, scope, None)
        return self._narrow(both or here, scope, frame)

    def _narrow(
        self, ids: Sequence[int], scope: list[str], frame: HloFrame | None
    ) -> tuple[int, ...]:
        """Keep those that also match the column and the name stack, if any do."""
        if frame is not None:
            ids = [
                i for i in ids if self._equations[i].frames[0].span.column == frame.column
            ] or ids
        if len(ids) > 1:
            ids = [i for i in ids if _words(self._equations[i].scope) == scope] or ids
        return tuple(ids) if len(ids) <= _MOST else ()


def _words(name: str) -> list[str]:
    words = [word for word in name.split("/") if word and word not in _OF_LOWERING]
    return [w for w in words if not w.startswith(("jit(", "pjit", "branch_", "cond"))] or words[-1:]


class Locator:
    """The equations of a name stack: by its tags, else by its name and frames."""

    def __init__(
        self,
        paths: TagPaths,
        candidates: Candidates,
        why: str,
        *,
        other: str = STALE,
        trust_frames: bool = True,
    ) -> None:
        """`why` is why the text has no tags, and is empty when it has; `other` is why it may have
        tags of a different program. `trust_frames` is False for a text that may be from a cache:
        its frames may be those of a program edited since."""
        self.paths = paths
        self._candidates = candidates
        self._why = why
        self._other = other
        self._trust_frames = trust_frames
        self._matches: dict[tuple[str, tuple[TagPath, ...]], TagMatch] = {}
        self.whole: dict[str, TagMatch] = {}
        """The matches so far of names with all their tags, whoever calls them."""

    def primitive(self, equation: int) -> str:
        return self._candidates.primitive(equation)

    def match(self, name: str, callers: Iterable[TagPath]) -> TagMatch:
        """The exact match of a name, or `NO_MATCH`.

        XLA joins the names of merged operations by semicolons.
        """
        if ";" not in name:
            if "eqn_" not in name:
                return NO_MATCH
            found = self.whole.get(name)
            if found is not None:
                return found
            around = tuple(callers)
            found = self._matches.get((name, around))
            if found is None:
                tags = tags_of(name)
                found = self.paths.find(tags, around) if tags else NO_MATCH
                if found.paths == (tags,):
                    self.whole[name] = found
                else:
                    self._matches[name, around] = found
            return found
        matches = [self.match(part, callers) for part in name.split(";")]
        return TagMatch(
            tuple(dict.fromkeys(i for match in matches for i in match.equations)),
            tuple(dict.fromkeys(path for match in matches for path in match.paths)),
        )

    def guess(self, name: str, frames: Iterable[HloFrame]) -> tuple[tuple[int, ...], str]:
        """Candidates for a name without an exact match, and the reason for that."""
        if not name:
            return (), ""
        tags = tags_of(name)
        if tags and len(self.paths):
            # The frames are of the other text, too: its line numbers would mislead.
            return self._candidates.find(name, ()), self._other
        if self._why:
            return self._candidates.find(name, frames if self._trust_frames else ()), self._why
        return (), ""
