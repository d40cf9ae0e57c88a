"""Which equations of a program work on a batch: values followed from where `vmap` took them in.

A jaxpr does not say which of its values are batches. What entered each `vmap`, and along which
axis, is noted while JAX traces (`_jax.watching_vmaps`); which `vmap` an equation lies under stands
in its name stack and its traceback. From there the batch is followed through the equations and the
jaxprs inside them: an equation under a `vmap` depends on the batch exactly when one of its operands
does, which is the rule of JAX's own batching.

Where nothing was noted, because JAX had traced that part before, the batches are those values
whose first dimension has the size of the batch, and the axis is marked as a guess.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from jaxscope.analysis.equation_work import equation_operations
from jaxscope.capture import _jax
from jaxscope.capture.batched_forms import Form, became
from jaxscope.capture.bodies import Body, Entry, Reader, open_jaxpr
from jaxscope.capture.sources import Sources
from jaxscope.model import BatchAxis, BatchedEquation, Batching, Frame, Turn, Unavailable

if TYPE_CHECKING:
    from jaxscope.capture.program import Captured

_MOST = 200_000
"""Beyond it equations are not taken apart; see `equations.expand`."""

_VMAP = ("Transform", "vmap")
_TRANSPOSE = ("Transform", "transpose")


def batching_of(captured: Captured, sources: Sources) -> Batching | Unavailable | None:
    """What `vmap` made of a captured program; None when it has no vmap."""
    tagged = captured.handles.tagged
    try:
        if tagged.body is None or not _has_vmap(tagged.body, set()):
            return None
        one = captured.request.untransformed
        base = None if one is None else Program(Reader(sources).body(one.jaxpr), one.jaxpr)
        entries = captured.vmaps or _of_function(captured)
        return read_batching(Program(tagged.body, tagged.jaxpr), entries, sources, base)
    except Exception as error:  # an equation of a form that nobody has seen
        reason = f"the batched equations could not be read ({type(error).__name__}: {error})"
        return Unavailable(reason)


@dataclass(frozen=True, slots=True)
class Program:
    """A jaxpr, as JAX has it and as it was read."""

    body: Body
    jaxpr: Any

    def constants(self) -> dict[int, int]:
        """The variables of captured arrays by those arrays, both by identity."""
        inner = getattr(self.jaxpr, "jaxpr", self.jaxpr)
        variables = getattr(inner, "constvars", ())
        arrays = getattr(self.jaxpr, "consts", ())
        return {id(a): id(v) for v, a in zip(variables, arrays, strict=False)}


def read_batching(
    program: Program,
    entries: Sequence[_jax.VmapEntry],
    sources: Sources,
    base: Program | None = None,
) -> Batching:
    """What `vmap` made of a program that has it.

    `base` is the program of one example where it was traced first and transformed then: what a
    `vmap` inside it took in are values of that one.
    """
    told: dict[Any, dict[_AxisKey, bool]] = {}
    if base is not None and _has_vmap(base.body, set()):
        before = _Walk(base, entries, {})
        before.follow()
        told = before.known
    walk = _Walk(program, entries, told)
    walk.follow()
    return Batching(tuple([axis.described(sources) for axis in walk.axes]), tuple(walk.found))


def _of_function(captured: Captured) -> list[_jax.VmapEntry]:
    """What enters the vmaps that a function begins with, where JAX had traced it before."""
    request, body = captured.request, captured.handles.tagged.body
    if body is None or len(captured.leaves()) != len(body.jaxpr.invars):
        return []
    leading = _jax.leading_vmaps(request.jitted, request.args, request.kwargs)
    under = (
        _jax.vmap_sites(_jax.traceback_of(e.equation)) for e in body.entries if _VMAP in e.scopes
    )
    sites = next((found for found in under if len(found) >= len(leading)), ())
    values = tuple(body.jaxpr.invars)
    return [
        _jax.VmapEntry(site, name, size, axes, values)
        for site, (name, size, axes) in zip(sites, leading, strict=False)
    ]


def _has_vmap(body: Body, seen: set[int]) -> bool:
    if id(body) in seen:
        return False
    seen.add(id(body))
    return any(
        _VMAP in entry.scopes or any(_has_vmap(inner, seen) for inner in entry.bodies)
        for entry in body.entries
    )


_SiteKey = tuple[tuple[int, int], ...]
_AxisKey = tuple[_SiteKey, str, int | None]


@dataclass(slots=True)
class _Axis:
    """One vmap by its call site. Sets of axes are bits: this one is `1 << index`."""

    index: int
    site: _jax.Site
    name: str
    size: int | None
    seen: bool
    """What entered it was noted, and those values are in the program."""
    told: bool = False
    """Which equations depend on it is known from the program that was traced first."""
    mapped: set[int] = field(default_factory=set[int])
    """Variables that enter it as batches, by identity."""
    shared: set[int] = field(default_factory=set[int])
    """Variables that enter it as they are."""

    @property
    def key(self) -> _AxisKey:
        return _key(self.site), self.name, self.size

    @property
    def guessed(self) -> bool:
        return not (self.seen or self.told)

    def described(self, sources: Sources) -> BatchAxis:
        frame = _user_frame(self.site, sources)
        line, source = (None, 0) if frame is None else (frame.span.line, frame.source or 0)
        return BatchAxis(self.name, self.size, line, source, not self.guessed)


def _user_frame(site: _jax.Site, sources: Sources) -> Frame | None:
    for code, offset in site:
        if sources.index(code.co_filename) is not None:
            positions = list(code.co_positions())
            position = positions[offset // 2] if offset // 2 < len(positions) else None
            if position is not None:
                return sources.frame(code.co_filename, code.co_qualname, position)
    return None


@dataclass(frozen=True, slots=True)
class _Place:
    """What a jaxpr inherits where it is used."""

    under: tuple[int, ...] = ()
    """Indices of the axes around it, outermost first."""
    times: float = 1.0
    transposed: bool = False
    one_by_one: bool = False
    """Inside a loop over the examples that a batching rule put in."""


class _Walk:
    """One program, followed once. Values are masks of the axes that they depend on."""

    def __init__(
        self,
        program: Program,
        entries: Sequence[_jax.VmapEntry],
        told: dict[Any, dict[_AxisKey, bool]],
    ) -> None:
        """`told` says of equations, by traceback, which axes they depend on and which not."""
        self.axes: list[_Axis] = []
        self.found: list[BatchedEquation] = []
        self.known: dict[Any, dict[_AxisKey, bool]] = {}
        """What was found, in the form of `told`."""
        self._body = body = program.body
        self._told = told
        self._by_site: dict[_SiteKey, list[_Axis]] = {}
        self._sites: dict[Any, tuple[_jax.Site, ...]] = {}
        self._forward: dict[tuple[Frame, ...], int] = {}
        """Where forward equations stand → the axes that any of them depends on."""
        self._number = 0
        variables, present = program.constants(), _variables(body)
        for entry in entries:
            self._enter(entry, variables, present)
        told_of = {key for known in told.values() for key in known}
        for axis in self.axes:
            axis.told = not axis.seen and axis.key in told_of
        self._entering: dict[int, int] = {}
        """Variables by identity → the axes along which they enter a vmap as batches."""
        for axis in self.axes:
            for variable in axis.mapped:
                self._entering[variable] = self._entering.get(variable, 0) | 1 << axis.index

    def follow(self) -> None:
        """Fill `axes` and `found`."""
        self._guess_sizes(self._body)
        self._run(self._body, [0] * len(self._body.jaxpr.invars), _Place(), record=True)

    # Axes

    def _enter(self, entry: _jax.VmapEntry, variables: dict[int, int], present: set[int]) -> None:
        axis = self._axis(entry.site, entry.name, entry.size)
        for position, value in zip(entry.axes, entry.values, strict=True):
            known = variables.get(id(value), id(value))
            if known in present:
                (axis.shared if position is None else axis.mapped).add(known)
                axis.seen = axis.seen or position is not None
        axis.shared -= axis.mapped

    def _axis(self, site: _jax.Site, name: str, size: int | None) -> _Axis:
        known = self._by_site.setdefault(_key(site), [])
        for axis in known:
            if (axis.name, axis.size) == (name, size):
                return axis
        axis = _Axis(len(self.axes), site, name, size, False)
        self.axes.append(axis)
        known.append(axis)
        return axis

    def _under(
        self, entry: Entry, outer: tuple[int, ...], depends: int, before: tuple[int, ...]
    ) -> tuple[int, ...]:
        """The axes around an equation, outermost first. `before` are those of the equation before
        it: what a batching rule evaluates again has the traceback of where it was traced first."""
        depth = entry.scopes.count(_VMAP)
        if not depth:
            return outer
        own: list[int] = []
        for site in self._sites_of(entry)[-depth:]:
            known = self._by_site.get(_key(site)) or [self._axis(site, "", None)]
            fitting = [axis for axis in known if depends >> axis.index & 1] or known
            own.append(fitting[0].index)
        missing = depth - len(own)
        if missing:
            first = len(outer) + missing
            if len(before) == len(outer) + depth and list(before[first:]) == own:
                return before
            taken = {*outer, *own}
            known = [a.index for a in self.axes if not a.guessed and a.index not in taken]
            likely = sorted(known, key=lambda index: (not depends >> index & 1, index))
            own = [*sorted(likely[:missing]), *own]
        return (*outer, *(axis for axis in own if axis not in outer))

    def _sites_of(self, entry: Entry) -> tuple[_jax.Site, ...]:
        traceback = _jax.traceback_of(entry.equation)
        sites = self._sites.get(traceback)
        if sites is None:
            sites = self._sites[traceback] = _jax.vmap_sites(traceback)
        return sites

    def _guess_sizes(self, body: Body) -> None:
        """Sizes of the axes that JAX traced before: the first dimension of the last result."""
        last: dict[int, int] = {}
        waiting: list[tuple[Body, tuple[int, ...]]] = [(body, ())]
        done: set[int] = set()
        for current, outer in waiting:
            under = outer
            for entry in current.entries:
                under = self._under(entry, outer, 0, under)
                for depth, index in enumerate(under):
                    if self.axes[index].size is None and _TRANSPOSE not in entry.scopes:
                        for variable in entry.equation.outvars:
                            if (shape := _shape(variable))[depth : depth + 1] not in ((), (1,)):
                                last[index] = shape[depth]
                for inner in entry.bodies:
                    if id(inner) not in done:
                        done.add(id(inner))
                        waiting.append((inner, under))
        for index, size in last.items():
            self.axes[index].size = size

    # Values

    def _run(self, body: Body, ins: Sequence[int], place: _Place, *, record: bool) -> list[int]:
        """The masks of a jaxpr's results, given those of its arguments."""
        masks: dict[int, int] = {
            id(variable): mask for variable, mask in zip(body.jaxpr.invars, ins, strict=True)
        }
        made: set[int] = set()
        under = place.under
        for entry in body.entries:
            equation = entry.equation
            depends = 0
            for atom in equation.invars:
                depends |= masks.get(id(atom), 0) | self._entering.get(id(atom), 0)
            under = self._under(entry, place.under, depends, under)
            around = sum(1 << axis for axis in under)
            operands = [
                self._operand(atom, masks, under, made) & around for atom in equation.invars
            ]
            transposed = place.transposed or _is_transposed(entry)
            here = replace(place, under=under, transposed=transposed)
            outs = self._equation(entry, operands, here, record=record)
            for variable, mask in zip(equation.outvars, outs, strict=True):
                masks[id(variable)] = mask
                made.add(id(variable))
        return [self._operand(atom, masks, place.under, made) for atom in body.jaxpr.outvars]

    def _operand(
        self, atom: Any, masks: dict[int, int], under: tuple[int, ...], made: set[int]
    ) -> int:
        mask = masks.get(id(atom), 0)
        for depth, index in enumerate(under):
            axis, bit = self.axes[index], 1 << index
            if id(atom) in axis.mapped:
                mask |= bit
            elif id(atom) in axis.shared:
                mask &= ~bit
            elif axis.guessed and id(atom) not in made and _is_batch(atom, axis.size, depth):
                mask |= bit
        return mask

    def _equation(
        self, entry: Entry, operands: list[int], place: _Place, *, record: bool
    ) -> list[int]:
        depends = 0
        for mask in operands:
            depends |= mask
        depends = self._corrected(entry, depends, place.under)
        if place.transposed:
            # A cotangent comes from outside; the operation that it goes back through is known.
            known = self._forward.get(entry.frames) if entry.frames else None
            depends = depends if known is None else known & sum(1 << axis for axis in place.under)
        elif record:
            self._forward[entry.frames] = self._forward.get(entry.frames, 0) | depends
        if record and place.under:
            known = self.known.setdefault(_jax.traceback_of(entry.equation), {})
            for axis in (self.axes[index] for index in place.under):
                known[axis.key] = known.get(axis.key, False) or bool(depends >> axis.index & 1)
        number, position = self._number, len(self.found)
        if record:
            self._number += 1
            if place.under:
                self.found.append(self._described(entry, operands, depends, place, number))
        if not entry.bodies or number >= _MOST:
            return [depends] * len(entry.equation.outvars)
        if place.transposed and entry.primitive not in _LOOPS:
            operands = [depends] * len(operands)
        outs = self._inside(entry, operands, place, record=record)
        if outs is None:
            outs = [depends] * len(entry.equation.outvars)
        if record and place.under:
            over = 0
            for mask in (depends, *outs):
                over |= mask
            self.found[position] = _over(self.found[position], over)
        return outs

    def _corrected(self, entry: Entry, depends: int, under: tuple[int, ...]) -> int:
        """The mask with what the program that was traced first knows better."""
        if not self._told:
            return depends
        told = self._told.get(_jax.traceback_of(entry.equation), {})
        for index in under:
            axis = self.axes[index]
            if axis.told and axis.key in told:
                bit = 1 << index
                depends = depends | bit if told[axis.key] else depends & ~bit
        return depends

    def _inside(
        self, entry: Entry, operands: list[int], place: _Place, *, record: bool
    ) -> list[int] | None:
        """Follow the values through the jaxprs of an equation; None where nobody knows how."""
        bodies = entry.bodies
        match entry.primitive:
            case "scan":
                return self._scan(entry, operands, place, record)
            case "while":
                return self._while(entry, operands, place, record)
            case "cond":
                return self._cond(bodies, operands, place, record)
            case _:
                outs: list[int] | None = None
                union = 0
                for mask in operands:
                    union |= mask
                for body in bodies:
                    number = len(body.jaxpr.invars)
                    ins = operands if number == len(operands) else [union] * number
                    given = self._run(body, ins, place, record=record)
                    if outs is None and len(given) == len(entry.equation.outvars):
                        outs = given
                return outs

    def _scan(self, entry: Entry, operands: list[int], place: _Place, record: bool) -> list[int]:
        body, equation = entry.bodies[0], entry.equation
        # Arguments are constants, what is carried, then slices; slices and the results that are
        # stacked have one dimension more outside. The parameters that say so differ by version.
        sliced = _deeper(equation.invars, body.jaxpr.invars)
        carried = len(equation.outvars) - _deeper(equation.outvars, body.jaxpr.outvars)
        first = len(operands) - sliced - carried
        ins = list(operands)
        while True:
            outs = self._run(body, ins, place, record=False)
            carry = [a | b for a, b in zip(ins[first : first + carried], outs, strict=False)]
            if carry == ins[first : first + carried]:
                break
            ins[first : first + carried] = carry
        if record:
            own = self.found[-1] if place.under else None
            inside = replace(
                place,
                times=place.times * equation.params["length"],
                one_by_one=place.one_by_one or (own is not None and own.turn is Turn.LOOP),
            )
            outs = self._run(body, ins, inside, record=True)
        return outs

    def _while(self, entry: Entry, operands: list[int], place: _Place, record: bool) -> list[int]:
        params = entry.equation.params
        in_test, in_body = params["cond_nconsts"], params["body_nconsts"]
        bodies = {id(body.jaxpr): body for body in entry.bodies}
        test = bodies[id(open_jaxpr(params["cond_jaxpr"]))]
        body = bodies[id(open_jaxpr(params["body_jaxpr"]))]
        tested = operands[:in_test]
        fixed, carry = operands[in_test : in_test + in_body], operands[in_test + in_body :]
        while True:
            (ends,) = self._run(test, [*tested, *carry], place, record=False)
            outs = self._run(body, [*fixed, *carry], place, record=False)
            grown = [a | b | ends for a, b in zip(carry, outs, strict=True)]
            if grown == carry:
                break
            carry = grown
        if record:
            if ends and place.under:
                own = self.found[-1]
                detail = "until the slowest example is done"
                self.found[-1] = replace(own, turn=Turn.SLOWEST, detail=detail)
            for each in entry.bodies:  # in the order in which the equations are numbered
                ins = [*tested, *carry] if each is test else [*fixed, *carry]
                self._run(each, ins, place, record=True)
        return carry

    def _cond(
        self, bodies: tuple[Body, ...], operands: list[int], place: _Place, record: bool
    ) -> list[int]:
        chosen, *others = operands
        outs: list[int] | None = None
        branches: list[tuple[int, int]] = []
        for body in bodies:
            start = len(self.found)
            given = [m | chosen for m in self._run(body, others, place, record=record)]
            outs = given if outs is None else [a | b for a, b in zip(outs, given, strict=True)]
            branches.append((start, len(self.found)))
        if record and branches:
            # One of them runs: the costliest is counted.
            work = [sum(each.operations for each in self.found[a:b]) for a, b in branches]
            dearest = work.index(max(work))
            for number, (start, end) in enumerate(branches):
                if number != dearest:
                    self.found[start:end] = [_free(each) for each in self.found[start:end]]
        return outs or []

    # Words

    def _described(
        self, entry: Entry, operands: list[int], depends: int, place: _Place, number: int
    ) -> BatchedEquation:
        over = tuple([axis for axis in place.under if depends >> axis & 1])
        sizes = [self.axes[axis].size for axis in over]
        form = None
        if place.one_by_one:
            form = Form(Turn.LOOP) if over and not entry.bodies else None
        elif over:
            form = became(entry, operands, sizes)
        return BatchedEquation(
            number,
            place.under,
            over,
            _operations(entry) * place.times,
            None if form is None else form.turn,
            "" if form is None else form.detail,
            "" if form is None else form.cause,
        )


_LOOPS = frozenset({"scan", "while", "cond"})


def _key(site: _jax.Site) -> _SiteKey:
    # By identity, since hashing a code object compares its constants; `_Axis.site` keeps it alive.
    return tuple([(id(code), offset) for code, offset in site])


def _is_transposed(entry: Entry) -> bool:
    """Whether an equation is the transpose of a batched one, and not a batched transpose."""
    if _VMAP not in entry.scopes or _TRANSPOSE not in entry.scopes:
        return False
    return entry.scopes.index(_TRANSPOSE) < entry.scopes.index(_VMAP)


def _variables(body: Body) -> set[int]:
    """The identities of all variables of a program, those of the jaxprs inside too."""
    found: set[int] = set()
    seen: set[int] = set()
    waiting = [body]
    while waiting:
        current = waiting.pop()
        if id(current) in seen:
            continue
        seen.add(id(current))
        jaxpr = current.jaxpr
        found.update(map(id, (*jaxpr.invars, *jaxpr.constvars)))
        for entry in current.entries:
            found.update(map(id, entry.equation.outvars))
            waiting += entry.bodies
    return found


def _shape(atom: Any) -> tuple[int, ...]:
    return tuple(getattr(getattr(atom, "aval", None), "shape", ()))


def _is_batch(atom: Any, size: int | None, depth: int) -> bool:
    """A guess: the batches of nested vmaps come first, the outermost before the others."""
    shape = _shape(atom)
    return size is not None and size in shape[: depth + 1]


def _deeper(outside: Sequence[Any], inside: Sequence[Any]) -> int:
    """How many values of a scan have one dimension more than in its body."""
    pairs = zip(outside, inside, strict=True)
    return sum(len(_shape(one)) > len(_shape(other)) for one, other in pairs)


def _operations(entry: Entry) -> float:
    """Of one run; what holds other equations does nothing itself."""
    if entry.bodies and not entry.primitive.startswith(("reduce", "scatter")):
        return 0.0
    equation = entry.equation
    with suppress(Exception):  # parameters that this JAX names otherwise
        ins = [_shape(atom) for atom in equation.invars]
        outs = [_shape(variable) for variable in equation.outvars]
        return equation_operations(entry.primitive, ins, outs, equation.params)
    return 0.0


def _over(each: BatchedEquation, mask: int) -> BatchedEquation:
    return replace(each, over=tuple([axis for axis in each.under if mask >> axis & 1]))


def _free(each: BatchedEquation) -> BatchedEquation:
    return replace(each, operations=0.0)
