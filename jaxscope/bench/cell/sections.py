"""The sections of a benchmark cell: the lines of the set-up and of each implementation.

A comment of its own at the left edge that names an implementation begins a section: `# numpy`,
`# jax: with vmap`. `# setup` begins the set-up, `# xp` the source that all implementations share.
A cell without such a comment is one shared source.
"""

from __future__ import annotations

import difflib
import io
import re
import tokenize
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from jaxscope import words

SETUP = "setup"
SHARED = "xp"
C = "c"
"""The one implementation whose section is not Python."""

_MARKER = re.compile(r"#\s*(?P<name>[A-Za-z][\w.+-]*(?: [a-z]+)?)\s*(?::\s*(?P<label>.*\S))?\s*$")
_FRAMEWORKS = frozenset(
    "tensorflow tf numba cupy autograd mlx dask keras julia rust c++".split()  # noqa: SIM905
)
"""Names that are a comment of their own only where an implementation is meant."""


class CellError(ValueError):
    """A benchmark cell or call that cannot be read; `line` counts the `%%` line as 1."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line


@dataclass(frozen=True, slots=True)
class CellSection:
    """The lines of one implementation, of the set-up, or of the shared source."""

    name: str
    """The registered name, or `setup`, or `xp`."""
    label: str
    """The text after the colon; empty if there is none."""
    line: int
    """The line of the comment that begins it; 1 for the lines before the first comment."""
    text: str
    """Its code after as many empty lines as precede it, so that lines count as in the cell."""

    @property
    def is_empty(self) -> bool:
        """Whether there are only blank lines and comments."""
        return all(not line.strip() or line.lstrip().startswith("#") for line in self.lines)

    @property
    def lines(self) -> Sequence[str]:
        return self.text.splitlines()


def sections(body: str, known: Collection[str]) -> tuple[CellSection, ...]:
    """The sections of a cell's body, whose first line is line 2 of the cell.

    Without a marker there is one section, `xp`. Lines before the first marker are set-up. Raises
    CellError for a marker that names no implementation, two sections of one name and label, and
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
        name = _implementation(match["name"], known)
        # A comment of one word may mean a section; an ordinary comment is not an error.
        key = _key(match["name"])
        if name is None and (in_c or not (key in _FRAMEWORKS or _near(key, known, 0.75))):
            continue
        if not in_c and _inside_a_string(since):
            continue
        if name is None:
            raise CellError(_unknown(match["name"], known, index + 2), index + 2)
        marks.append((index, name, match["label"] or ""))
    if not marks:
        return (CellSection(SHARED, "", 1, f"\n{body}"),)
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
    """The registered name that `name` means: case, spaces, `_` and `-` make no difference.

    Raises CellError with similar names for an unknown one.
    """
    found = _implementation(name, known)
    if found is None:
        raise CellError(_unknown(name, known, None))
    return found


def _section(lines: Sequence[str], mark: int, end: int, name: str, label: str) -> CellSection:
    text = "\n" * (mark + 2) + "\n".join(lines[mark + 1 : end])
    return CellSection(name, label, max(mark + 2, 1), text)


def _key(name: str) -> str:
    return re.sub(r"[ _]+", "-", name.strip().lower())


def _implementation(name: str, known: Collection[str]) -> str | None:
    if _key(name) in (SETUP, SHARED):
        return _key(name)
    return {_key(one): one for one in known}.get(_key(name))


def _near(name: str, known: Collection[str], cutoff: float) -> list[str]:
    keys = {_key(one): one for one in (*known, SETUP)}
    inside = [one for key, one in keys.items() if len(key) > 2 and key in _key(name)]
    near = difflib.get_close_matches(_key(name), keys, n=3, cutoff=cutoff)
    return list(dict.fromkeys([*(keys[key] for key in near), *inside]))


def _unknown(name: str, known: Collection[str], line: int | None) -> str:
    text = f"There is no implementation `{name}`."
    if line:
        text = f"Line {line} begins a section for `{name}`, which is not an implementation."
    near = _near(name, known, 0.5)
    if near:
        text += f" Did you mean {words.listed([f'`{one}`' for one in near], last='or')}?"
    return f"{text} The implementations are {words.listed(sorted(known))}."


def _inside_a_string(lines: Sequence[str]) -> bool:
    """Whether these lines leave a string open, so that the next line is not a comment."""
    try:
        for _ in tokenize.generate_tokens(io.StringIO("\n".join(lines) + "\n").readline):
            pass
    except tokenize.TokenError as error:
        return "string" in str(error)
    except SyntaxError:
        return False
    return False


def _check(found: Sequence[CellSection]) -> None:
    seen: dict[tuple[str, str], int] = {}
    for section in found:
        title = f"`# {section.name}{f': {section.label}' if section.label else ''}`"
        if section.is_empty:
            raise CellError(
                f"The section {title} on line {section.line} holds no code. "
                "Write its code below the comment, or remove the comment.",
                section.line,
            )
        key = (section.name, section.label)
        if key in seen and section.name != SETUP:
            raise CellError(
                f"Line {section.line} begins a second section {title}; the first is on line "
                f"{seen[key]}. Give one of them a label: `# {section.name}: variant`.",
                section.line,
            )
        seen[key] = section.line
    if all(section.name == SETUP for section in found):
        raise CellError(
            "The cell has a set-up but nothing to time. Add sections such as `# numpy` and "
            "`# jax`, or `# xp` for a source that all implementations share."
        )
