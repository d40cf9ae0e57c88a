"""Jaxprs read once each: their equations with primitives, avals and the user's frames."""

from __future__ import annotations

import hashlib
import types
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from jaxscope.analysis.links.tags import TAG, TAG_HEX
from jaxscope.capture import _jax
from jaxscope.capture.source.frames import Position, is_user_file
from jaxscope.capture.source.sources import SourceFiles
from jaxscope.model import Frame, SourceKind

# A kernel's own jaxpr: it never becomes StableHLO, and its name stacks mean other things.
_OPAQUE = frozenset({"pallas_call"})


@dataclass(slots=True)
class JaxprEntry:
    """One equation of a jaxpr, wherever that jaxpr is used."""

    equation: Any
    primitive: str
    frames: tuple[Frame, ...]
    """The user's frames inside the function that this jaxpr was traced from, innermost first."""
    scopes: tuple[tuple[str, str], ...]
    """The name stack, relative to the jaxpr; see `_jax.name_scopes`. Tags are left out."""
    tags: tuple[str, ...]
    """The tags in the name stack, outermost first."""
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    bodies: tuple[JaxprBody, ...]
    """The jaxprs among its parameters."""


@dataclass(slots=True)
class JaxprBody:
    """One jaxpr; the same object wherever JAX uses the same jaxpr."""

    jaxpr: Any
    entries: tuple[JaxprEntry, ...]
    digest: str
    """Hash of the primitives, avals and spans, those of the jaxprs inside included."""


def user_call(equation: Any) -> tuple[types.CodeType, int] | None:
    """The innermost call or operation of the user's code that made an equation, as code and offset;
    None where it is unknown."""
    positions = zip(*_jax.code_positions(_jax.traceback_of(equation)), strict=True)
    return next((one for one in positions if is_user_file(one[0].co_filename)), None)


def open_jaxpr(value: Any) -> Any:
    """The jaxpr without its constants; on jax 0.12 both are one class."""
    return getattr(value, "jaxpr", value)


def jaxprs_in(value: Any) -> Iterator[Any]:
    """The jaxprs in a parameter: itself, or those in (nested) tuples and lists, open or closed."""
    if isinstance(value, (tuple, list)):
        for item in value:
            yield from jaxprs_in(item)
    elif hasattr(value, "eqns"):
        yield value


def is_opaque(primitive: str) -> bool:
    """Whether the jaxprs of such an equation are not read."""
    return primitive in _OPAQUE


class JaxprReader:
    """Reads jaxprs; equal parts (jaxprs, code positions, avals) are read once."""

    def __init__(self, sources: SourceFiles) -> None:
        self._sources = sources
        self._bodies: dict[int, JaxprBody] = {}
        self._avals: dict[int, str] = {}
        # Code objects by identity, since hashing one compares its constants; kept alive beside.
        self._codes: dict[int, _Code] = {}
        self._frames: dict[tuple[int, int], Frame] = {}
        self._stacks: dict[Any, tuple[Frame, ...]] = {}
        self._keys: dict[int, str] = {}

    def body(self, value: Any) -> JaxprBody:
        """The jaxpr, open or closed, with everything inside."""
        jaxpr = open_jaxpr(value)
        body = self._bodies.get(id(jaxpr))
        if body is None:
            entries = tuple([self._entry(equation) for equation in jaxpr.eqns])
            body = self._bodies[id(jaxpr)] = JaxprBody(jaxpr, entries, self._digest(entries))
        return body

    def runs(self, file: str, value: Any) -> bool:
        """Whether functions of that file of the user's are traced in a jaxpr."""
        waiting = [value]
        while waiting:
            for equation in open_jaxpr(waiting.pop()).eqns:
                if any(frame.file == file for frame in self._user_frames(equation)):
                    return True
                waiting += [jaxpr for one in equation.params.values() for jaxpr in jaxprs_in(one)]
        return False

    def _entry(self, equation: Any) -> JaxprEntry:
        primitive = _jax.printed_name(equation)
        bodies: list[JaxprBody] = []
        if primitive not in _OPAQUE:
            for value in equation.params.values():
                bodies += [self.body(jaxpr) for jaxpr in jaxprs_in(value)]
        scopes = _jax.name_scopes(equation)
        tags = tuple([name for _, name in scopes if name[:4] == "eqn_" and TAG.fullmatch(name)])
        if tags:
            scopes = tuple([scope for scope in scopes if scope[1] not in tags])
        return JaxprEntry(
            equation,
            primitive,
            self._user_frames(equation),
            scopes,
            tags,
            tuple([self._aval(atom.aval) for atom in equation.invars]),
            tuple([self._aval(atom.aval) for atom in equation.outvars]),
            tuple(bodies),
        )

    def _aval(self, aval: Any) -> str:
        text = self._avals.get(id(aval))
        if text is None:
            text = self._avals[id(aval)] = _jax.short_aval(aval)
        return text

    def _user_frames(self, equation: Any) -> tuple[Frame, ...]:
        # Equal tracebacks are common: copies by differentiation, and iterations of Python loops.
        traceback = _jax.traceback_of(equation)
        frames = self._stacks.get(traceback)
        if frames is None:
            frames = self._stacks[traceback] = self._read_stack(traceback)
        return frames

    def _read_stack(self, traceback: Any) -> tuple[Frame, ...]:
        frames: list[Frame] = []
        codes = self._codes
        for code, offset in zip(*_jax.code_positions(traceback), strict=True):
            known = codes.get(id(code))
            if known is None:
                known = codes[id(code)] = _Code(code, self._sources)
            if known.is_user:
                frames.append(self._frame(known, offset))
            elif known.begins_trace:
                break
        return tuple(frames)

    def _frame(self, known: _Code, offset: int) -> Frame:
        key = (id(known.code), offset)
        frame = self._frames.get(key)
        if frame is None:
            code = known.code
            made = self._sources.frame(code.co_filename, code.co_qualname, known.position(offset))
            assert made is not None  # The code is the user's, so its file is known.
            frame = self._frames[key] = made
        return frame

    def _digest(self, entries: tuple[JaxprEntry, ...]) -> str:
        digest = hashlib.blake2b(digest_size=TAG_HEX // 2)
        for entry in entries:
            parts = [entry.primitive, *entry.inputs, "=", *entry.outputs]
            parts += [self._key(frame) for frame in entry.frames]
            parts += [body.digest for body in entry.bodies]
            digest.update("\t".join(parts).encode())
            digest.update(b"\n")
        return digest.hexdigest()

    def _key(self, frame: Frame) -> str:
        """A frame as part of a hash: the same in the next process, and in the next run of a cell.

        A notebook names a cell's file after the process and the text, so of a cell only the
        position within it counts.
        """
        key = self._keys.get(id(frame))
        if key is None:
            source = self._sources.all()[frame.source or 0]
            file = frame.file if source.kind is SourceKind.MODULE else "cell"
            key = self._keys[id(frame)] = f"{file}:{tuple(frame.span)}"
        return key


class _Code:
    """A code object, as far as frames need it."""

    __slots__ = ("_positions", "begins_trace", "code", "is_user")

    def __init__(self, code: types.CodeType, sources: SourceFiles) -> None:
        self.code = code
        self.begins_trace = _jax.begins_trace(code)
        self.is_user = sources.index_of(code) is not None
        self._positions: list[Position] | None = None

    def position(self, offset: int) -> Position:
        """`(line, end line, column, end column)` of the instruction at this offset."""
        if self._positions is None:
            self._positions = list(self.code.co_positions())
        index = offset // 2
        if 0 <= index < len(self._positions):
            return self._positions[index]
        return self.code.co_firstlineno, None, None, None
