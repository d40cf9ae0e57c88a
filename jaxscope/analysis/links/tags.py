"""jaxscope's tags in name stacks: how they are spelled, how to read them, how to take them out."""

import re

TAG_HEX = 8
"""Hexadecimal digits of a tag's hash: at 10 000 jaxprs a chance of 1 % that any two collide."""

TAG = re.compile(rf"eqn_\d+_[0-9a-f]{{{TAG_HEX}}}(?![0-9a-z_])")
"""One tag: the index of an equation in its jaxpr, and the hash of that jaxpr. No `@` in it: XLA
cuts names there."""

_BEFORE_SLASH = re.compile(rf"{TAG.pattern}/")
# JAX wraps a transform around the scope that follows it, `jvp(jit(f))/mul`, and a tag takes that
# place, `jvp(eqn_…)/jit(f)/mul`.
_WRAPPED = re.compile(rf"\({TAG.pattern}(\)+)/(jit\([^/\";]*\))")
_ELSEWHERE = re.compile(rf"/?{TAG.pattern}")
_STACK_FRAME = re.compile(r" ?stack_frame_id=\d+")
_EMPTY_METADATA = re.compile(r", metadata=\{\s*\}")
_TABLE_NAMES = frozenset({"FileNames", "FunctionNames", "FileLocations", "StackFrames"})


def tag(index: int, digest: str) -> str:
    """The tag of one equation of the jaxpr with that hash."""
    return f"eqn_{index}_{digest}"


def tags_of(name: str) -> tuple[str, ...]:
    """The tags in a name stack, outermost first."""
    return tuple(TAG.findall(name)) if "eqn_" in name else ()


def without_tags(text: str) -> str:
    """The text as JAX would have written it without jaxscope: every tag and its slash taken out."""
    if "eqn_" not in text:
        return text
    if "(eqn_" in text:
        text = _WRAPPED.sub(r"(\2\1", text)
    text = _BEFORE_SLASH.sub("", text)
    return _ELSEWHERE.sub("", text)


def clean_hlo(text: str) -> tuple[str, list[int]]:
    """HLO text as shown: tags, frame tables and the numbers that refer to them taken out.

    The list gives, for each line of the result, its line number (from 1) in the given text.
    """
    lines: list[str] = []
    origin: list[int] = []
    in_table = False
    blank_before = False
    for number, line in enumerate(text.split("\n"), 1):
        if line.rstrip() in _TABLE_NAMES:
            in_table = True
            continue
        if in_table:
            in_table = bool(line.strip())
            continue
        if not line.strip():
            # Between the tables stand blank lines; one is enough.
            blank_before = True
            continue
        if blank_before and lines:
            lines.append("")
            origin.append(number - 1)
        blank_before = False
        if "metadata={" in line:
            line = _EMPTY_METADATA.sub("", _STACK_FRAME.sub("", without_tags(line)))
        lines.append(line)
        origin.append(number)
    return "\n".join(lines) + "\n", origin
