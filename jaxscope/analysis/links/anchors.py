"""The equations behind each line of a lowered or compiled text."""

from collections.abc import Iterable, Mapping, Sequence

from jaxscope.analysis.hlo import HloFrame, HloModule, Instruction, callers_first, users
from jaxscope.analysis.links.tags import (
    NO_MATCH,
    TagMatch,
    TagPath,
    TagPaths,
    tags_of,
    without_tags,
)
from jaxscope.analysis.stablehlo import Operation, StableText
from jaxscope.model import Anchor, Equation

STALE = (
    "the compiled program came from the persistent cache of an edited program, whose lines differ"
)
ADDED = "it names no equation; matched by its neighboring instructions"
CONTAINED = "it names no equation; matched by the instruction around it"

# Instructions that compute nothing: untagged ones get no link.
_PLAIN = frozenset({"parameter", "constant", "tuple", "get-tuple-element", "bitcast"})
# Instructions whose line represents the computation inside.
_HOLDERS = frozenset({"fusion", "call", "async-start", "custom-call"})
_REACH = 6
"""Untagged instructions to cross in search of a tagged neighbor."""
_NEIGHBORS = 8
"""An instruction with more neighbors belongs to none of them in particular."""


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

    def match(self, name: str, callers: Iterable[TagPath]) -> TagMatch:
        """The exact match of a name, or `NO_MATCH`.

        XLA joins the names of merged operations by semicolons.
        """
        if ";" not in name:
            tags = tags_of(name)
            return self.paths.find(tags, callers) if tags else NO_MATCH
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


def stablehlo_anchors(module: StableText, locator: Locator) -> tuple[Anchor, ...]:
    """Anchors of a StableHLO text; lines of a function have the equations of all its calls."""
    calls: dict[str, list[Operation]] = {}
    for operation in module.operations:
        if operation.callee:
            calls.setdefault(operation.callee, []).append(operation)
    contexts: dict[str, tuple[TagPath, ...]] = {}

    def context(function: str) -> tuple[TagPath, ...]:
        known = contexts.get(function)
        if known is None:
            contexts[function] = ()
            paths: dict[TagPath, None] = {}
            for call in calls.get(function, ()):
                around = context(call.function)
                match = locator.match(call.location.name, around)
                paths.update(dict.fromkeys(match.paths or around))
            known = contexts[function] = tuple(paths)
        return known

    anchors: list[Anchor] = []
    for operation in module.operations:
        around = context(operation.function)
        match = locator.match(operation.location.name, around)
        equations = match.equations or _of_paths(locator.paths, around)
        if equations:
            anchors.append(Anchor(operation.line, equations))
            continue
        equations, why = locator.guess(operation.location.name, operation.location.frames)
        if equations:
            anchors.append(Anchor(operation.line, equations, False, why))
    return tuple(anchors)


def hlo_anchors(
    module: HloModule, locator: Locator, shown: Mapping[int, int]
) -> tuple[Anchor, ...]:
    """Anchors of an HLO text; `shown` maps the module's line numbers to those of the text."""
    return _HloAnchors(module, locator).collect(shown)


def _of_paths(paths: TagPaths, around: Iterable[TagPath]) -> tuple[int, ...]:
    return tuple(dict.fromkeys(i for path in around for i in paths.equations(path)))


class _HloAnchors:
    def __init__(self, module: HloModule, locator: Locator) -> None:
        self._module = module
        self._locator = locator
        self._exact: dict[str, tuple[int, ...]] = {}
        self._guessed: dict[str, tuple[tuple[int, ...], str]] = {}
        self._contexts: dict[str, dict[TagPath, None]] = {}
        # The instructions that run a computation.
        self._callers: dict[str, list[Instruction]] = {}
        self._held: dict[str, tuple[int, ...]] = {}

    def collect(self, shown: Mapping[int, int]) -> tuple[Anchor, ...]:
        reached = callers_first(self._module)
        names = {computation.name for computation in reached}
        reached += [c for c in self._module.computations if c.name not in names]
        for computation in reached:
            for instruction in computation.instructions:
                self._locate(instruction)
        for computation in reached:
            self._inherit(computation.instructions)
        made = (self._anchor(i, shown.get(i.line)) for i in self._module.instructions())
        anchors = [anchor for anchor in made if anchor is not None]
        return tuple(sorted(anchors, key=lambda anchor: anchor.line))

    def _locate(self, instruction: Instruction) -> None:
        around = self._contexts.get(instruction.computation, {})
        match = self._locator.match(instruction.op_name, around)
        equations = match.equations
        callers = self._callers.get(instruction.computation, ())
        # The computation around it is a function, and so the work of its callers.
        is_called = bool(callers) and all(caller.opcode == "call" for caller in callers)
        if not equations and is_called and instruction.opcode not in _PLAIN:
            equations = _of_paths(self._locator.paths, around)
        if equations:
            self._exact[instruction.name] = equations
        else:
            name = instruction.op_name
            frames = () if not name else self._module.frames(instruction)
            guess = self._locator.guess(name, frames)
            if guess[0] and instruction.opcode not in _PLAIN:
                self._guessed[instruction.name] = guess
        for called in instruction.called:
            context = self._contexts.setdefault(called, {})
            context.update(dict.fromkeys(match.paths) if match.paths else around)
            self._callers.setdefault(called, []).append(instruction)

    def _inherit(self, instructions: tuple[Instruction, ...]) -> None:
        """Give unmatched instructions the equations of their neighbors, as a guess."""
        missing = [
            i
            for i in instructions
            if i.name not in self._exact
            and i.name not in self._guessed
            and i.opcode not in _PLAIN
            and not self._inside(i)
        ]
        if not missing:
            return
        readers = {name: [i.name for i in found] for name, found in users(instructions).items()}
        operands = {instruction.name: instruction.operands for instruction in instructions}
        for instruction in missing:
            name = instruction.name
            found = self._nearest(name, readers) or self._nearest(name, operands)
            why = ADDED
            if not found:
                callers = self._callers.get(instruction.computation, ())
                found = tuple(
                    dict.fromkeys(i for c in callers for i in self._exact.get(c.name, ())[:1])
                )
                why = CONTAINED
            if 0 < len(found) <= _NEIGHBORS:
                self._guessed[instruction.name] = found, why

    def _nearest(self, start: str, neighbors: Mapping[str, Sequence[str]]) -> tuple[int, ...]:
        """Equations of the nearest tagged instructions."""

        def inside(name: str) -> tuple[int, ...]:
            instruction = self._module.instruction(name)
            return () if instruction is None else self._inside(instruction)

        seen = {start}
        border = [start]
        for _ in range(_REACH):
            ahead = [n for name in border for n in neighbors.get(name, ()) if n not in seen]
            seen.update(ahead)
            found = dict.fromkeys(
                i for name in ahead for i in (self._exact.get(name) or inside(name))[:1]
            )
            if found:
                return tuple(found)
            border = list(dict.fromkeys(ahead))
            if not border:
                break
        return ()

    def _inside(self, instruction: Instruction) -> tuple[int, ...]:
        """The exact equations inside a fusion or call."""
        if instruction.opcode not in _HOLDERS or not instruction.called:
            return ()
        held = self._held.get(instruction.name)
        if held is None:
            self._held[instruction.name] = ()
            found: dict[int, None] = {}
            for computation in self._module.called(instruction):
                # The root first: it is the result of the fusion.
                for inner in reversed(computation.instructions):
                    if inner.opcode not in _PLAIN:
                        found.update(dict.fromkeys(self._exact.get(inner.name, ())))
                        found.update(dict.fromkeys(self._inside(inner)))
            held = self._held[instruction.name] = tuple(found)
        return held

    def _anchor(self, instruction: Instruction, line: int | None) -> Anchor | None:
        if line is None:
            return None
        own = self._exact.get(instruction.name, ())
        inside = self._inside(instruction)
        if own or inside:
            return Anchor(line, tuple(dict.fromkeys(own + inside)))
        guess = self._guessed.get(instruction.name)
        if guess is None:
            return None
        return Anchor(line, guess[0], False, guess[1])
