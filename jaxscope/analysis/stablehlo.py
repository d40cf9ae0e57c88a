"""StableHLO text printed with locations: the text without them, and the location of each line."""

import functools
import re
from dataclasses import dataclass

from jaxscope.analysis.hlo import HloFrame
from jaxscope.analysis.hlo.attributes import closing_parenthesis

_ALIAS = re.compile(r"(#loc\d*) = loc\((.*)\)\s*$")
_FUNCTION = re.compile(r'\s*func\.func (?:\w+ )?@("[^"]*"|[\w$.\-]+)\(')
_CALL = re.compile(r'\bcall @("[^"]*"|[\w$.\-]+)\(')
# The common spellings of a location at the end of an operation or behind a block argument.
_LOCATION = re.compile(r' loc\((#loc\d*|unknown|"(?:[^"\\]|\\.)*")\)')
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_CALLSITE = re.compile(rf"{_STRING.pattern}|[()]| at ")
_POSITION = re.compile(r":(\d+):(\d+)")


@dataclass(frozen=True, slots=True)
class Location:
    """A name stack and the Python frames behind it, innermost first."""

    name: str
    frames: tuple[HloFrame, ...]


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation, on the line where its text begins."""

    line: int
    function: str
    location: Location
    callee: str
    """The called function; empty for other operations."""


@dataclass(frozen=True, slots=True)
class StableText:
    """A module's text as shown, and its operations."""

    text: str
    operations: tuple[Operation, ...]


def parse_stablehlo(text: str) -> StableText:
    """Parse the text of `lowered.as_text("stablehlo", debug_info=True)`."""
    shown: list[str] = []
    aliases: dict[str, str] = {}
    found: list[tuple[int, str, str, str]] = []
    open_lines: list[tuple[int, str]] = []
    function = ""
    for raw in text.split("\n"):
        if raw.startswith("#loc") and (alias := _ALIAS.match(raw)) is not None:
            aliases[alias[1]] = alias[2]
            continue
        line, locations = _take_locations(raw)
        if not line.strip():
            continue
        shown.append(line)
        number = len(shown)
        if (start := _FUNCTION.match(line)) is not None:
            function = start[1].strip('"')
            open_lines.append((number, ""))
            continue
        depth = _depth(line)
        # `stablehlo.while` prints its operands on one line, and opens its regions on the next.
        begins = number - 1 if depth > 0 and line.strip() == "cond {" else number
        call = _CALL.search(line) if "call @" in line else None
        callee = call[1].strip('"') if call else ""
        if depth > 0:
            open_lines += [(begins, callee)] * depth
        elif depth < 0:
            for _ in range(min(-depth, len(open_lines))):
                start_line, start_callee = open_lines.pop()
                if locations:
                    found.append((start_line, function, locations[-1], start_callee))
        elif locations and not line.lstrip().startswith("}"):
            found.append((number, function, locations[-1], callee))
    parse = _LocationParser(aliases).parse
    operations = [
        Operation(line, owner, parse(location), callee)
        for line, owner, location, callee in found
        # The closing brace of a function or of the module is not the end of an operation.
        if "func.func" not in shown[line - 1] and not shown[line - 1].startswith("module")
    ]
    operations.sort(key=lambda operation: operation.line)
    return StableText("\n".join(shown) + "\n", tuple(operations))


def _take_locations(line: str) -> tuple[str, list[str]]:
    if " loc(" not in line:
        return line.rstrip(), []
    locations = _LOCATION.findall(line)
    line = _LOCATION.sub("", line).rstrip()
    while (start := line.find(" loc(")) >= 0:
        end = closing_parenthesis(line, start + 5)
        locations.append(line[start + 5 : end])
        line = (line[:start] + line[end + 1 :]).rstrip()
    return line, locations


def _depth(line: str) -> int:
    """Opened minus closed braces of a line, outside strings."""
    if "{" not in line and "}" not in line:
        return 0
    bare = _STRING.sub("", line) if '"' in line else line
    return bare.count("{") - bare.count("}")


class _LocationParser:
    """Parses MLIR locations, each alias once."""

    def __init__(self, aliases: dict[str, str]) -> None:
        self._aliases = aliases
        self.parse = functools.cache(self._location)
        self._stack = functools.cache(self._frames)

    def _location(self, text: str) -> Location:
        # "name"(child); JAX may wrap the name in the primitive's name with a colon.
        name = ""
        text = self._resolve(text)
        while text.startswith('"') and (string := _STRING.match(text)) is not None:
            if text[string.end() : string.end() + 1] == ":":
                break
            name = _unquote(string[0])
            text = self._resolve(text[string.end() :].strip().removeprefix("(").removesuffix(")"))
            if not name.endswith(":"):
                break
        return Location(name, self._stack(text))

    def _resolve(self, text: str) -> str:
        seen = 0
        while text.startswith("#loc") and text in self._aliases and seen < 100:
            text = self._aliases[text]
            seen += 1
        return text

    def _frames(self, text: str) -> tuple[HloFrame, ...]:
        return self._read_stack(self._resolve(text), "")

    def _read_stack(self, text: str, function: str) -> tuple[HloFrame, ...]:
        if text.startswith("callsite("):
            callee, caller = _split_callsite(text[9:-1])
            return self._stack(callee) + self._stack(caller)
        string = _STRING.match(text)
        if string is None:
            return ()
        rest = text[string.end() :]
        place = _POSITION.match(rest)
        if place is not None:
            return (HloFrame(_unquote(string[0]), function, int(place[1]), int(place[2])),)
        if rest.startswith("("):
            return self._read_stack(self._resolve(rest[1:-1]), _unquote(string[0]))
        return ()


def _split_callsite(text: str) -> tuple[str, str]:
    """`callee at caller`, the ` at ` outside strings and parentheses."""
    depth = 0
    for token in _CALLSITE.finditer(text):
        if token[0] == " at " and depth == 0:
            return text[: token.start()], text[token.end() :]
        depth += (token[0] == "(") - (token[0] == ")")
    return text, ""


def _unquote(text: str) -> str:
    return text[1:-1].replace('\\"', '"').replace("\\\\", "\\")
