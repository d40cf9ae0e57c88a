"""Where there is no tag: the equations that a line may have come from."""

from collections.abc import Iterable, Sequence

from jaxscope.analysis.hlo import HloFrame
from jaxscope.analysis.links.tags import without_tags
from jaxscope.model import Equation

_MOST = 64
"""A longer list of candidates says nothing; the line then has no link."""

# Words that lowering puts into a name stack; equations do not have them in theirs.
_OF_LOWERING = frozenset({"body", "closed_call", "eval_jaxpr", "core_call", "checkpoint", "while"})


class Candidates:
    """Finds equations by primitive, source line and name stack."""

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
            # The primitive stands elsewhere: the frame is not to be believed.
            return self._narrow(same_primitive, scope, None)
        return self._narrow(both or here, scope, frame)

    def _narrow(
        self, ids: Sequence[int], scope: list[str], frame: HloFrame | None
    ) -> tuple[int, ...]:
        """Keep those that also fit the column and the name stack, as long as any do."""
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
