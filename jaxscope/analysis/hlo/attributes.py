"""Parse the `name=value` list of an HLO instruction, and the strings in it."""

import re

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+"|[{}()\[\],]')
_KEY = re.compile(r"\s*([\w.\-/]+)=")
_STRING = re.compile(r'([\w.\-]+)=(?:"((?:[^"\\]|\\.)*+)"|([^\s",{}]+))')
_ESCAPE = re.compile(rb"\\(?:([0-7]{1,3})|x([0-9a-fA-F]{2})|(.))", re.DOTALL)
_NAMED_ESCAPES = {b"n": b"\n", b"r": b"\r", b"t": b"\t"}


def split_top_level(text: str) -> list[str]:
    """Split at the commas outside every bracket and string."""
    pieces: list[str] = []
    depth = start = 0
    for token in _TOKEN.finditer(text):
        mark = token[0]
        if mark in "({[":
            depth += 1
        elif mark in ")}]":
            depth -= 1
        elif mark == "," and depth == 0:
            pieces.append(text[start : token.start()])
            start = token.end()
    pieces.append(text[start:])
    return pieces


def parse_attributes(text: str) -> dict[str, str]:
    """Read `, kind=kLoop, calls=%f, metadata={...}` into names and raw values.

    Values keep their braces and quotes; a piece without a name (a lone flag) gets an empty value.
    """
    attributes: dict[str, str] = {}
    for piece in split_top_level(text):
        key = _KEY.match(piece)
        if key is not None:
            attributes[key[1]] = piece[key.end() :].strip()
        elif piece.strip():
            attributes[piece.strip()] = ""
    return attributes


def parse_fields(text: str) -> dict[str, str]:
    """Read the space-separated fields of `{op_name="jit(f)/add" source_line=3}`, unquoted."""
    return {
        name: unescape(quoted) if quoted or not bare else bare
        for name, quoted, bare in _STRING.findall(text)
    }


def unescape(text: str) -> str:
    """Undo the C escapes of XLA's strings; UTF-8 bytes come in octal, `\\303\\251`."""
    if "\\" not in text:
        return text
    raw = _ESCAPE.sub(_unescaped_byte, text.encode())
    return raw.decode(errors="replace")


def _unescaped_byte(match: re.Match[bytes]) -> bytes:
    octal, hexadecimal, other = match.groups()
    if octal is not None:
        return bytes([int(octal, 8) & 0xFF])
    if hexadecimal is not None:
        return bytes([int(hexadecimal, 16)])
    return _NAMED_ESCAPES.get(other, other)


def numbers(text: str | None) -> tuple[int, ...]:
    """The integers in an attribute such as `{0,2}`."""
    return tuple(map(int, re.findall(r"-?\d+", text or "")))


def closing_parenthesis(text: str, start: int) -> int:
    """Index of the parenthesis that closes the one before `start`; the end if there is none."""
    depth = 1
    for token in _TOKEN.finditer(text, start):
        if token[0] == "(":
            depth += 1
        elif token[0] == ")":
            depth -= 1
            if depth == 0:
                return token.start()
    return len(text)
