"""Python loops and recursion that JAX unrolled into copies of the body."""

import ast
import statistics
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from jaxscope.analysis.findings.evidence import Evidence, TracedCode
from jaxscope.analysis.python.parse import Code
from jaxscope.model import (
    Equation,
    Finding,
    FindingKind,
    Frame,
    Phase,
    Program,
)
from jaxscope.words import count, grouped, seconds

COPIES = 16
"""Iterations from which a loop is reported. A loop over the layers of a network, with 2 to 12
iterations whose bodies differ, is how networks are written; a reported loop of 15 iterations took 6
minutes to compile, which `SLOW_COMPILE_S` catches."""
EQUATIONS = 64
"""Equations of all copies together: below, compiling them takes milliseconds."""
FEW_COPIES = 4
SLOW_COMPILE_S = 10.0
"""From this compile time on, a loop of few iterations is reported if it is half the program."""
STEPS = 8
"""Steps of a training loop inside the program. Inner loops of meta-learning have 1 to 5."""

# Present in some iterations only, such as where a Python number meets an array first.
_TRIVIAL = frozenset(
    {"convert_element_type", "broadcast_in_dim", "squeeze", "reshape", "copy", "jit", "pjit"}
)
Loop = ast.For | ast.AsyncFor | ast.While | ast.ListComp | ast.SetComp | ast.DictComp
Position = tuple[int, int]
"""Line and column."""
Body = tuple[Position, Position]
"""Begin and end of the body of a loop."""


@dataclass(frozen=True, slots=True)
class Unrolled:
    """A loop and the equations that its body became."""

    code: Code
    node: Loop
    copies: int
    """An estimate, for the thresholds."""
    equations: tuple[Equation, ...]
    own: tuple[Equation, ...]
    """Those that are in no loop inside this one."""


def loops(evidence: Evidence, traced: TracedCode) -> Iterator[Finding]:
    """Unrolled loops, outermost first, and recursion; a training loop is a kind of its own."""
    elsewhere = _LoopsElsewhere(traced.codes)
    for program in evidence.record.programs:
        compiling = sum(evidence.record.compiles[i].total_s for i in program.compiles)
        found = [u for code in traced.codes for u in _unrolled(code, program, elsewhere)]
        often = [_of_one_call(u, found) for u in found if _is_costly(u, program, compiling)]
        costly = [u for u in often if _is_costly(u, program, compiling)]
        for unrolled in costly:
            if not any(_contains(other, unrolled) for other in costly):
                yield _finding(unrolled, program, compiling)
        yield from _recursion(program)


def progress_bars(evidence: Evidence, traced: TracedCode) -> Iterator[Finding]:
    """Progress bars around unrolled loops: they show the progress of tracing."""
    if not any(module.partition(".")[0] == "tqdm" for module in traced.modules.values()):
        return
    elsewhere = _LoopsElsewhere(traced.codes)
    for program in evidence.record.programs:
        for code in traced.codes:
            for unrolled in _unrolled(code, program, elsewhere):
                node = unrolled.node
                if not isinstance(node, ast.For) or not isinstance(node.iter, ast.Call):
                    continue
                words = traced.dotted(node.iter.func).split(".")
                is_bar = words[0] == "tqdm" and words[-1] in ("tqdm", "trange")
                if unrolled.copies >= 2 and is_bar:
                    yield Finding(
                        FindingKind.TRACE_TIME_SIDE_EFFECT,
                        node.lineno,
                        "The progress bar shows tracing, not execution: compiled calls never "
                        "advance it.",
                        "Compile one step and call it from the loop, or report progress with "
                        "`jax.debug.callback`.",
                        f"{count(len(unrolled.equations), 'equation')} of {program.title} come "
                        "from the body of this loop.",
                        source=code.index,
                    )


class _LoopsElsewhere:
    """Whether a frame of any source is inside a loop of that source."""

    def __init__(self, codes: Sequence[Code]) -> None:
        self._codes = {code.index: code for code in codes}
        self._ranges: dict[int, list[Body]] = {}

    def hold(self, frame: Frame) -> bool:
        code = self._codes.get(-1 if frame.source is None else frame.source)
        if code is None:
            return False
        if code.index not in self._ranges:
            found = [_body_range(code, node) for node in code.nodes if isinstance(node, Loop)]
            self._ranges[code.index] = found
        place = (frame.span.line, frame.span.column)
        return any(_in(place, body) for body in self._ranges[code.index])


def _unrolled(code: Code, program: Program, elsewhere: _LoopsElsewhere) -> Iterator[Unrolled]:
    """Each loop of a source, with the equations of its body."""
    nodes = [node for node in code.nodes if isinstance(node, Loop)]
    ranges = [_body_range(code, node) for node in nodes]
    if not nodes:
        return
    innermost_in: dict[int, list[Equation]] = {}
    every: dict[int, list[Equation]] = {}
    places: dict[Position, list[int]] = {}
    for equation in program.equations:
        innermost: int | None = None
        holding: set[int] = set()
        repeated = False  # by a loop of another source, below this one
        for frame in equation.frames:
            if frame.source != code.index:
                repeated = repeated or elsewhere.hold(frame)
                continue
            place = (frame.span.line, frame.span.column)
            if place not in places:
                places[place] = [i for i, body in enumerate(ranges) if _in(place, body)]
            inside = places[place]
            holding.update(inside)
            if inside and innermost is None and not repeated:
                # `ast.walk` goes breadth first, so the last is the innermost.
                innermost = max(inside, key=lambda i: ranges[i][0])
        for index in holding:
            every.setdefault(index, []).append(equation)
        if innermost is not None:
            innermost_in.setdefault(innermost, []).append(equation)
    for index, node in enumerate(nodes):
        if index in every:
            own = tuple(innermost_in.get(index, []))
            yield Unrolled(code, node, _copies(own, node), tuple(every[index]), own)


def _copies(equations: Sequence[Equation], node: ast.AST) -> int:
    """The number of copies of the loop's body in the program.

    At each place of the body, the least frequent primitive gives the number of iterations: library
    functions use others several times per iteration. The median over the places then outvotes those
    under a condition. At most the number of iterations in the text.
    """
    least, given = _least(equations), _iterations(node)
    if not least:  # all is in a loop inside this one
        return given or 0
    copies = int(statistics.median_low(least.values()))
    return copies if given is None else min(copies, given)


def _known_copies(unrolled: Unrolled) -> int | None:
    """The copies of all calls together; None unless all places of the body agree on those of each.

    A JVP repeats equations beside their tangents, so that its counts are no iterations.
    """
    calls: dict[tuple[Frame, ...], set[int]] = {}
    phases: set[Phase] = set()
    for (frames, phase), number in _least(unrolled.own).items():
        calls.setdefault(frames[_depth(frames, unrolled) + 1 :], set()).add(number)
        phases.add(phase)
    if Phase.FORWARD in phases and Phase.BACKWARD not in phases:
        return None
    if any(len(numbers) > 1 for numbers in calls.values()):
        return None
    return sum(number for numbers in calls.values() for number in numbers)


def _least(equations: Sequence[Equation]) -> dict[tuple[tuple[Frame, ...], Phase], int]:
    """The number of the least frequent primitive at each place."""
    counts = Counter(
        (e.frames, e.primitive, e.phase) for e in equations if e.primitive not in _TRIVIAL
    )
    least: dict[tuple[tuple[Frame, ...], Phase], int] = {}
    for (frames, _, phase), number in counts.items():
        least[frames, phase] = min(number, least.get((frames, phase), number))
    return least


def _iterations(node: ast.AST) -> int | None:
    """The iterations of a loop over a literal range or sequence."""
    match node:
        case ast.For(iter=iterable):
            pass
        case ast.ListComp(generators=[ast.comprehension(iter=iterable)]):
            pass
        case _:
            return None
    match iterable:
        case ast.List(elts=elements) | ast.Tuple(elts=elements):
            return None if any(isinstance(e, ast.Starred) for e in elements) else len(elements)
        case ast.Call(func=ast.Name(id="range"), args=arguments):
            try:
                return len(range(*map(ast.literal_eval, arguments)))
            except (TypeError, ValueError):
                return None
        case _:
            return None


def _in(place: Position, body: Body) -> bool:
    return body[0] <= place < body[1]


def _body_range(code: Code, node: Loop) -> Body:
    match node:
        case ast.For() | ast.AsyncFor() | ast.While():
            first, last = node.body[0], node.body[-1]
        case ast.DictComp():
            first, last = node.key, node.value
        case _:
            first = last = node.elt
    end_line, end_column = last.end_lineno or last.lineno, last.end_col_offset or 0
    return code.position(first.lineno, first.col_offset), code.position(end_line, end_column)


def _contains(outer: Unrolled, inner: Unrolled) -> bool:
    if outer is inner or outer.code is not inner.code:
        return False
    place = (inner.node.lineno, inner.node.col_offset)
    return _in(place, _body_range(outer.code, outer.node))


def _of_one_call(unrolled: Unrolled, found: Sequence[Unrolled]) -> Unrolled:
    """A loop with the copies of one of the calls that an unrolled loop around all of them makes.

    Two layers in each of ten steps are twenty copies, and the loop over the steps is the reason.
    """
    own = set(map(id, unrolled.equations))
    around = [u.copies for u in found if _calls(u, unrolled) and own <= set(map(id, u.equations))]
    return replace(unrolled, copies=unrolled.copies // max([1, *around]))


def _calls(outer: Unrolled, inner: Unrolled) -> bool:
    """Whether a body is in a caller of another one, by the first equation of that."""
    if _contains(outer, inner):
        return True
    frames = inner.equations[0].frames
    return _depth(frames, outer) > _depth(frames, inner)


def _depth(frames: Sequence[Frame], loop: Unrolled) -> int:
    """The outermost frame in the body of a loop; -1 without one."""
    source, body = loop.code.index, _body_range(loop.code, loop.node)
    places = [(f.source, (f.span.line, f.span.column)) for f in frames]
    inside = [i for i, (at, place) in enumerate(places) if at == source and _in(place, body)]
    return inside[-1] if inside else -1  # the outermost: the body may define and call a function


def _is_costly(unrolled: Unrolled, program: Program, compiling: float) -> bool:
    number, copies = len(unrolled.equations), unrolled.copies
    if copies >= COPIES and number >= EQUATIONS:
        return True
    if copies >= STEPS and number >= EQUATIONS and _trains(unrolled):
        return True
    return (
        copies >= FEW_COPIES
        and compiling >= SLOW_COMPILE_S
        and 2 * number >= len(program.equations)
    )


def _trains(unrolled: Unrolled) -> bool:
    """Whether the body takes a gradient and updates a variable that it reads."""
    node = unrolled.node
    if not isinstance(node, ast.For | ast.While):
        return False
    body = [inner for statement in node.body for inner in ast.walk(statement)]
    words = {n.id for n in body if isinstance(n, ast.Name)}
    words |= {n.attr for n in body if isinstance(n, ast.Attribute)}
    stored = {n.id for n in body if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    read = {n.id for n in body if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    takes_gradient = any("grad" in word.lower() for word in words)
    backward = any(e.phase is Phase.BACKWARD for e in unrolled.equations)
    return takes_gradient and backward and bool(stored & read)


def _recursion(program: Program) -> Iterator[Finding]:
    """Functions that call themselves for one more copy of their body."""
    depths: dict[tuple[int, str], set[int]] = {}
    inside: Counter[tuple[int, str]] = Counter()
    lines: dict[tuple[int, str], int] = {}
    for equation in program.equations:
        if len(equation.frames) < COPIES and not depths:
            continue
        calls = Counter((f.source, f.function) for f in equation.frames if f.source is not None)
        for frame in equation.frames:
            key = (frame.source or 0, frame.function)
            if calls.get(key, 0) > 1:
                lines[key] = frame.span.line  # at last the outermost: that of the recursive call
        for key, depth in calls.items():
            depths.setdefault(key, set()).add(depth)
            inside[key] += 1
    for (source, function), found in depths.items():
        number = inside[source, function]
        if len(found) < COPIES or number < EQUATIONS:
            continue
        name = function.rpartition("<locals>.")[2]
        yield Finding(
            FindingKind.UNROLLED_LOOP,
            lines[source, function],
            f"The recursion of `{name}` was unrolled into {max(found)} calls, so compile time "
            "grows with its depth.",
            "Use `jax.lax.scan` or `jax.lax.fori_loop`, with the values between two calls as the "
            "carry.",
            f"{grouped(number)} of the {count(len(program.equations), 'equation')} of "
            f"{program.title} come from its calls.",
            source=source,
        )


def _finding(unrolled: Unrolled, program: Program, compiling: float) -> Finding:
    number, known = len(unrolled.equations), _known_copies(unrolled)
    if _trains(unrolled):
        kind = FindingKind.TRAINING_LOOP
        into = f" into {known} steps" if known else ""
        message = f"This training loop was unrolled{into}, so compile time grows with each step."
        fix = "Compile one step and call it from a Python loop, or use `jax.lax.scan`."
    else:
        kind = FindingKind.UNROLLED_LOOP
        into = f" into {known} copies of its body" if known else ""
        message = f"This Python loop was unrolled{into}, so compile time grows with each iteration."
        is_while = isinstance(unrolled.node, ast.While)
        loop = "`jax.lax.while_loop`" if is_while else "`jax.lax.scan` or `jax.lax.fori_loop`"
        fix = f"Use {loop} if an iteration needs the one before, otherwise `jax.vmap`."
    total = count(len(program.equations), "equation")
    evidence = f"{grouped(number)} of the {total} of {program.title} come from its body."
    if compiling:
        evidence += f" Tracing, lowering and compiling took {seconds(compiling)}."
    line = int(getattr(unrolled.node, "lineno", 0))
    return Finding(kind, line, message, fix, evidence, source=unrolled.code.index)
