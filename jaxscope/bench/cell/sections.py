"""The sections of a benchmark cell: which lines are the set-up, and which belong to whom.

A comment of its own at the left edge that names a contestant begins a section: `# numpy`,
`# jax: with vmap`. `# setup` begins the lines that prepare, `# xp` those written for all. A cell
without such a comment is one source for all.
"""

from __future__ import annotations

import difflib
import io
import re
import tokenize
from collections.abc import Collection, Sequence
from dataclasses import dataclass

SETUP = "setup"
SHARED = "xp"
C = "c"
"""The one contestant whose section is no Python."""

_MARKER = re.compile(r"#\s*(?P<name>[A-Za-z][\w.+-]*(?: [a-z]+)?)\s*(?::\s*(?P<label>.*\S))?\s*$")
_FRAMEWORKS = frozenset(
    {
        "tensorflow",
        "tf",
        "numba",
        "cupy",
        "autograd",
        "mlx",
        "dask",
        "keras",
        "julia",
        "rust",
        "c++",
    }
)
"""Names that nobody writes as a comment of one word unless a contestant is meant."""


class CellError(ValueError):
    """What is wrong with a benchmark cell, as a sentence; `line` counts the `%%` line as 1."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line


@dataclass(frozen=True, slots=True)
class Section:
    """The lines of one contestant, or those that all share."""

    name: str
    """The contestant as it is known, or `setup`, or `xp`."""
    label: str
    """What stands behind the colon; empty if nothing does."""
    line: int
    """The line of the comment that begins it; 1 for what stands before the first comment."""
    text: str
    """Its code behind as many empty lines as stand above it, so that lines count as in the cell."""

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing but blank lines and comments."""
        return all(not line.strip() or line.lstrip().startswith("#") for line in self.lines)

    @property
    def lines(self) -> Sequence[str]:
        return self.text.splitlines()


def sections(body: str, known: Collection[str]) -> tuple[Section, ...]:
    """The sections of a cell's body, whose first line is line 2 of the cell.

    Without a marker there is one section, `xp`. What stands before the first marker is set-up.
    Raises CellError for a marker that names no contestant, two sections of one name and label, and
    sections without code.
    """
    lines = body.splitlines()
    marks: list[tuple[int, str, str]] = []
    for index, line in enumerate(lines):
        match = _MARKER.match(line)
        if match is None:
            continue
        since = lines[marks[-1][0] + 1 if marks else 0 : index]
        in_c = bool(marks) and marks[-1][1] == C
        name = _contestant(match["name"], known)
        if name is None and (in_c or not _is_meant(match, known)):
            continue
        if not in_c and _inside_a_string(since):
            continue
        if name is None:
            raise CellError(_unknown(match["name"], known, index + 2), index + 2)
        marks.append((index, name, match["label"] or ""))
    if not marks:
        return (Section(SHARED, "", 1, f"\n{body}"),)
    found = [_section(lines, -1, marks[0][0], SETUP, "")]
    ends = [*(index for index, _, _ in marks[1:]), len(lines)]
    found += [
        _section(lines, index, end, name, label)
        for (index, name, label), end in zip(marks, ends, strict=True)
    ]
    if found[0].is_empty:
        del found[0]
    _check(found)
    return tuple(found)


def resolve(name: str, known: Collection[str]) -> str:
    """The contestant that a name means, whatever its case, `jax eager` and `jax-eager` alike.

    Raises CellError with the names that are near for one that is not known.
    """
    found = _contestant(name, known)
    if found is None:
        raise CellError(_unknown(name, known, None))
    return found


def _section(lines: Sequence[str], mark: int, end: int, name: str, label: str) -> Section:
    text = "\n" * (mark + 2) + "\n".join(lines[mark + 1 : end])
    return Section(name, label, max(mark + 2, 1), text)


def _key(name: str) -> str:
    return re.sub(r"[ _]+", "-", name.strip().lower())


def _contestant(name: str, known: Collection[str]) -> str | None:
    if _key(name) in (SETUP, SHARED):
        return _key(name)
    return {_key(one): one for one in known}.get(_key(name))


def _is_meant(match: re.Match[str], known: Collection[str]) -> bool:
    """Whether a comment that names no contestant was meant to: an ordinary one is no error."""
    key = _key(match["name"])
    return key in _FRAMEWORKS or bool(_near(key, known, 0.75))


def _near(name: str, known: Collection[str], cutoff: float) -> list[str]:
    keys = {_key(one): one for one in (*known, SETUP)}
    inside = [one for key, one in keys.items() if len(key) > 2 and key in _key(name)]
    near = difflib.get_close_matches(_key(name), keys, n=3, cutoff=cutoff)
    return list(dict.fromkeys([*(keys[key] for key in near), *inside]))


def _unknown(name: str, known: Collection[str], line: int | None) -> str:
    where = f"Line {line} begins a section for" if line else "There is no contestant"
    near = _near(name, known, 0.5)
    said = f"{where} `{name}`, which is no contestant here." if line else f"{where} `{name}`."
    if near:
        said += f" Did you mean {listing([f'`{one}`' for one in near], 'or')}?"
    return f"{said} The contestants are {listing(sorted(known), 'and')}."


def listing(names: Sequence[str], word: str) -> str:
    """`a, b and c`."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {word} {names[-1]}"


def _inside_a_string(lines: Sequence[str]) -> bool:
    """Whether these lines leave a string open, so that what follows is no comment."""
    try:
        for _ in tokenize.generate_tokens(io.StringIO("\n".join(lines) + "\n").readline):
            pass
    except tokenize.TokenError as error:
        return "string" in str(error)
    except SyntaxError:
        return False
    return False


def _check(found: Sequence[Section]) -> None:
    seen: dict[tuple[str, str], int] = {}
    for section in found:
        title = f"`# {section.name}{f': {section.label}' if section.label else ''}`"
        if section.is_empty:
            raise CellError(
                f"The section {title} of line {section.line} holds no code. "
                "Write what it should run below it, or take the comment away.",
                section.line,
            )
        key = (section.name, section.label)
        if key in seen and section.name != SETUP:
            raise CellError(
                f"Line {section.line} begins a second section {title}; the first is on line "
                f"{seen[key]}. Give one of them a label: `# {section.name}: another way`.",
                section.line,
            )
        seen[key] = section.line
    if all(section.name == SETUP for section in found):
        raise CellError(
            "The cell has a set-up and nothing to time. Add a section for each contestant, such "
            "as `# numpy` and `# jax`, or `# xp` for a source that all of them run."
        )
