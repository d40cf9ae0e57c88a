"""jaxscope's tags in name stacks: write, read and remove them, and find their equations."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from jaxscope.analysis.hlo import HloFrame, Instruction
from jaxscope.analysis.hlo.frames import TABLE_NAMES, StackFrames, parse_stack_frames
from jaxscope.analysis.hlo.parser import read_attributes

TAG_HEX = 8
"""Hexadecimal digits of a tag's hash: a 1 % chance that any two of 10 000 jaxprs collide."""

TAG = re.compile(rf"eqn_\d+_[0-9a-f]{{{TAG_HEX}}}(?![0-9a-z_])")
"""One tag: an equation's index in its jaxpr, and the jaxpr's hash. No `@`: XLA cuts names there."""

_BEFORE_SLASH = re.compile(rf"{TAG.pattern}/")
# JAX wraps a transform around the next scope, `jvp(jit(f))/mul`, and a tag takes that position,
# `jvp(eqn_…)/jit(f)/mul`.
_WRAPPED = re.compile(rf"\({TAG.pattern}(\)+)/(jit\([^/\";]*\))")
# An expression that begins with a fixed text is ten times as fast as one with a choice there.
_AFTER_SLASH = re.compile(rf"/{TAG.pattern}")
_FRAME_ALONE = re.compile(r"\{stack_frame_id=\d+")
_STACK_FRAME = re.compile(r" stack_frame_id=\d+")
_EMPTY_METADATA = re.compile(r", metadata=\{\s*\}")
_NAME_FIRST = 'metadata={op_name="'
"""The usual form of JAX."""
_BEFORE_NAMES = ("sharding=", "frontend_attributes=", "metadata={op_type=")


def tag(index: int, digest: str) -> str:
    """The tag of one equation of the jaxpr with that hash."""
    return f"eqn_{index}_{digest}"


def tags_of(name: str) -> tuple[str, ...]:
    """The tags in a name stack, outermost first."""
    return tuple(TAG.findall(name)) if "eqn_" in name else ()


def without_tags(text: str) -> str:
    """The text as JAX writes it without jaxscope: every tag and its slash removed."""
    if "eqn_" not in text:
        return text
    if "(eqn_" in text:
        text = _WRAPPED.sub(r"(\2\1", text)
    text = _BEFORE_SLASH.sub("", text)
    return TAG.sub("", _AFTER_SLASH.sub("", text)) if "eqn_" in text else text


class CleanText:
    """HLO text as shown: without tags, frame tables and references to them.

    What was removed is known by the line of an instruction in the clean text.
    """

    def __init__(self, text: str, tagged: Sequence[str], tables: dict[str, list[str]]) -> None:
        """`tagged` are the lines as they were."""
        self.text = text
        self._tagged = tagged
        self._tables = tables
        # Inside these, other metadata may come first, and old texts have the name later.
        self._nested = any(key in text for key in _BEFORE_NAMES)

    @functools.cached_property
    def names(self) -> Sequence[str]:
        """By line, of which the first is 0: the name stack with its tags, or an empty text."""
        names: list[str] = []
        for line in self._tagged:
            start = line.find(_NAME_FIRST)
            name = ""
            if start >= 0:
                start += len(_NAME_FIRST)
                name = line[start : line.find('"', start)]
            names.append(read_attributes(line)[0] if self._nested or "\\" in name else name)
        return names

    def frames(self, instruction: Instruction) -> tuple[HloFrame, ...]:
        """The Python stack in the tables, innermost first; empty where they do not have one."""
        return self._stacks.stack(read_attributes(self._tagged[instruction.line - 1])[1])

    @functools.cached_property
    def _stacks(self) -> StackFrames:
        return parse_stack_frames(self._tables)


def clean_hlo(text: str) -> CleanText:
    """The clean text of an HLO module."""
    top, opening, rest = text.partition("{\n")  # the tables come before the first computation
    top, tables = _without_tables(top)
    while "\n\n\n" in rest:
        rest = rest.replace("\n\n\n", "\n\n")
    text = f"{top}{opening}{rest}".rstrip() + "\n"
    clean = _FRAME_ALONE.sub("{", _STACK_FRAME.sub("", without_tags(text)))
    return CleanText(_EMPTY_METADATA.sub("", clean), text.split("\n"), tables)


def _without_tables(text: str) -> tuple[str, dict[str, list[str]]]:
    """The text without the tables, with one blank line where there were several; the tables."""
    lines: list[str] = []
    tables: dict[str, list[str]] = {}
    table: list[str] | None = None
    for line in text.split("\n"):
        bare = line.rstrip()
        if bare in TABLE_NAMES:
            table = tables.setdefault(bare, [])
        elif not bare:
            table = None
            lines += [""] if lines and lines[-1] else []
        elif table is not None:
            table.append(line)
        else:
            lines.append(line)
    return "\n".join(lines), tables


TagPath = tuple[str, ...]
"""Tags of the nested equations around a name, outermost first."""


@dataclass(frozen=True, slots=True)
class TagMatch:
    """The equations that a name refers to."""

    equations: tuple[int, ...]
    """Ids: several where a jaxpr with several uses was lowered once."""
    paths: tuple[TagPath, ...]
    """The full tag paths of these equations."""


NO_MATCH = TagMatch((), ())


class TagPaths:
    """All full tag paths of one program.

    Names are relative to their function: inside `func.call` and the regions of a reduce they have
    only the inner tags, and the caller's path must be prepended.
    """

    __slots__ = ("_by_last", "_equations")

    def __init__(self, paths: Sequence[TagPath]) -> None:
        """`paths` by equation id; empty for an untagged equation."""
        self._equations: dict[TagPath, tuple[int, ...]] = {}
        self._by_last: dict[str, list[TagPath]] = {}
        for number, path in enumerate(paths):
            if path:
                self._equations[path] = (*self._equations.get(path, ()), number)

    def __len__(self) -> int:
        return len(self._equations)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TagPaths) and self._equations == other._equations

    def __hash__(self) -> int:
        return hash(frozenset(self._equations))

    def items(self) -> Iterable[tuple[TagPath, tuple[int, ...]]]:
        """Each path with its equations."""
        return self._equations.items()

    def joined(self, other: TagPaths) -> TagPaths:
        """The union of both; `self` decides on the equations of a common path."""
        union = TagPaths(())
        union._equations = other._equations | self._equations
        return union

    def equations(self, path: TagPath) -> tuple[int, ...]:
        """The equations with exactly this path."""
        return self._equations.get(path, ())

    def equations_of(self, paths: Iterable[TagPath]) -> tuple[int, ...]:
        """The equations with one of these paths."""
        return tuple(dict.fromkeys(i for path in paths for i in self.equations(path)))

    def find(self, tags: TagPath, callers: Iterable[TagPath] = ()) -> TagMatch:
        """The equations of a name with these tags.

        Unknown tags at the end are ignored: while lowering an equation, JAX may use its own
        jaxprs, which were tagged in a different program.
        """
        if not tags:
            return NO_MATCH
        found = self._equations.get(tags)
        if found is not None:
            return TagMatch(found, (tags,))
        completed = (self._complete(tags, caller) for caller in callers or ((),))
        paths = list(dict.fromkeys(path for path in completed if path is not None))
        if not paths and (path := self._complete(tags, ())) is not None:
            paths = [path]
        if any(tags[-1] != path[-1] for path in paths):
            # One in between may be that of a jaxpr that JAX kept: the last one tells the equation.
            ends = self._ending(tags[-1])
            paths = [
                p for path in paths for p in [e for e in ends if e[: len(path)] == path] or [path]
            ]
        if not paths:
            # XLA merges equal reducers: a name may occur where none of its own callers is left.
            paths = [path for path in self._ending(tags[-1]) if path[-len(tags) :] == tags]
        return TagMatch(tuple([n for path in paths for n in self._equations[path]]), tuple(paths))

    def _ending(self, tag: str) -> Sequence[TagPath]:
        """The paths with this tag at their end; sorted into groups when first asked for."""
        if not self._by_last:
            for path in self._equations:
                self._by_last.setdefault(path[-1], []).append(path)
        return self._by_last.get(tag, ())

    def _complete(self, tags: TagPath, caller: TagPath) -> TagPath | None:
        """The longest path of this program that starts like the caller's and continues with tags.

        First with the caller's whole path (a call), then with prefixes of it: the region of a
        reduce repeats the tag of the reduce itself.
        """
        best: TagPath | None = None
        most = 0
        for kept in range(len(caller), -1, -1):
            for taken in range(len(tags), most, -1):
                path = caller[:kept] + tags[:taken]
                if path in self._equations:
                    best, most = path, taken
                    break
        return best
