"""The input of the rules: the record of a run, a few facts that only capture sees, and the user's
code as syntax, with the parts that JAX is known to have traced."""

import ast
import functools
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import KW_ONLY, dataclass
from functools import cached_property

from jaxscope.analysis.jaxpr.flow import Flow
from jaxscope.analysis.python.parse import Code, nodes_of, parsed
from jaxscope.analysis.python.scopes import Binds, Function, parameters
from jaxscope.analysis.python.statements import own_nodes
from jaxscope.model import Form, Program, Record, Timing, ValueKind


@dataclass(frozen=True, slots=True)
class ObservedSideEffect:
    """A side effect observed while the cell was traced (block form) or executed (decorator)."""

    line: int | None
    """The innermost line of the cell that led to it."""
    text: str
    """The printed text, or the file that was opened."""


@dataclass(frozen=True, slots=True)
class NameFact:
    """The type of a name's value before the run."""

    name: str
    kind: str
    """`jax.Array`, `numpy.ndarray`, `list`, `dict`, `set`, `logging.Logger`, `torch.Tensor` …: the
    type with its package. For a module `module:` and its name: `module:numpy.random`."""
    aval: str = ""
    """For an array, as `Value.aval` spells it: `float32[4,8]`."""
    foreign: bool = False
    """An array of a library whose arrays JAX cannot trace."""
    after: bool = False
    """The name had no value before the run; this is the one after it."""
    shared: bool = False
    """Another name, container or closure holds its array, which a donation would delete."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """The facts of a run. A missing fact keeps findings silent, never wrong."""

    record: Record
    """Form, sources, programs, compiles and environment; its findings are not read."""
    names: tuple[NameFact, ...] = ()
    """The names that the sources read, as they were before the run; of use are modules,
    containers, loggers, non-JAX arrays, and arrays that functions close over."""
    printed: tuple[ObservedSideEffect, ...] | None = None
    """Calls of `print`; None when they were not recorded."""
    written: tuple[ObservedSideEffect, ...] | None = None
    """Files opened for writing; None when they were not recorded."""
    trace_s: float | None = None
    """Seconds of tracing the cell (block form only)."""
    _: KW_ONLY
    computing: tuple[int | None, ...] = ()
    """Result of `count_computing` for each program; None where the text was not read."""
    flows: tuple[Flow | None, ...] = ()
    """The dataflow of each program; None where it was not read."""


def timing(program: Program, label: str) -> Timing | None:
    """The timing of this label, if it has samples."""
    return next((t for t in program.timings if t.label == label and t.samples), None)


# Known at trace time, also of a tracer.
STATIC_ATTRIBUTES = frozenset(
    {"shape", "dtype", "ndim", "size", "sharding", "weak_type", "columns", "index", "itemsize"}
)
_JITS = frozenset({"jit", "filter_jit", "pmap"})
STATIC_CALLS = frozenset({"len", "type", "isinstance", "hasattr", "callable", "id"})


@dataclass(frozen=True, slots=True)
class TracedScope:
    """A function whose body was traced, or in block form the cell itself."""

    source: int
    name: str
    """Empty for the cell."""
    body: tuple[ast.stmt, ...]
    own: frozenset[str]
    """Local names; empty for the cell."""
    parameters: frozenset[str] = frozenset()

    @property
    def title(self) -> str:
        return f"`{self.name}`" if self.name else "the cell"

    @property
    def evidence(self) -> str:
        """The reason why this code is known to have been traced."""
        if not self.name:
            return "JAX traces this cell on every run."
        return f"The compiled program contains `{self.name}`, so JAX traced its body."

    def nodes(self) -> Iterator[ast.AST]:
        """Every node that runs in this scope, whether or not a condition guards it."""
        return own_nodes(list(self.body))

    def unconditional(self) -> tuple[ast.AST, ...]:
        """The nodes that run whenever the body does: nothing under `if`, `while`, `except` …"""
        return _unconditional(self.body)


@functools.lru_cache(maxsize=32)  # several rules ask for the same
def _unconditional(body: tuple[ast.stmt, ...]) -> tuple[ast.AST, ...]:
    found: list[ast.AST] = []
    waiting: list[ast.AST] = list(reversed(body))
    while waiting:
        node = waiting.pop()
        found.append(node)
        match node:
            case ast.If() | ast.While() | ast.IfExp():
                inner: list[ast.AST] = [node.test]
            case ast.BoolOp():
                inner = [node.values[0]]
            case ast.Match():
                inner = [node.subject]
            case ast.Try():
                inner = [*node.body, *node.finalbody]
            case ast.Lambda() | ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                inner = []
            case _:
                inner = list(ast.iter_child_nodes(node))
        waiting.extend(reversed(inner))
    return tuple(found)


class TracedCode:
    """The sources of a run, parsed, and the scopes of them that were traced."""

    def __init__(self, evidence: Evidence) -> None:
        record = evidence.record
        self.block = record.form is Form.BLOCK
        self._programs = record.programs
        self._flows = evidence.flows
        self.codes = [
            Code(index, source, tree)
            for index, source in enumerate(record.sources)
            if (tree := parsed(source)) is not None
        ]
        self.cell = next((code for code in self.codes if code.index == 0), None)
        self.modules = dict(_imports(code.tree for code in self.codes)) | {
            fact.name: fact.kind.removeprefix("module:")
            for fact in evidence.names
            if fact.kind.startswith("module:")
        }
        self.shared = {fact.name for fact in evidence.names if fact.shared}
        self.kinds = {fact.name: fact.kind for fact in evidence.names} | self._literals()
        self.scopes = self._find_scopes(evidence)
        inputs = [v for p in record.programs for v in p.inputs]
        outputs = [v for p in record.programs for v in p.outputs]
        entering = [v for v in inputs if v.kind in (ValueKind.TRACED, ValueKind.DONATED)]
        self.tracer_names = {root(v.name) for v in (*entering, *outputs)} - {"Out"}
        """Block form: names that hold tracers while the cell runs."""

    @cached_property
    def flows(self) -> list[tuple[Program, Flow]]:
        """The programs whose dataflow is known, with it."""
        known = zip(self._programs, self._flows, strict=False)
        return [(program, flow) for program, flow in known if flow is not None]

    def dotted(self, node: ast.AST, scope: TracedScope | None = None) -> str:
        """`numpy.random.normal` for `np.random.normal`; empty if it is not a name of a module."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name) or (scope is not None and node.id in scope.own):
            return ""
        module = self.modules.get(node.id)
        return ".".join([module, *reversed(parts)]) if module else ""

    def uses_tracer(self, node: ast.AST) -> bool:
        """Whether the expression uses more of a tracer than its shape and type."""
        return any(name in self.tracer_names for name in value_names(node))

    def is_jax_array(self, node: ast.AST, scope: TracedScope) -> bool:
        """Whether an expression is a JAX array for certain, rather than NumPy's or a number."""
        match node:
            case ast.Name(id=name) if name in scope.own or not scope.name:
                assigned = [
                    statement.value
                    for statement in scope.nodes()
                    if isinstance(statement, ast.Assign)
                    and any(isinstance(t, ast.Name) and t.id == name for t in statement.targets)
                    and statement.lineno < line_of(node)
                ]
                if assigned:
                    return all(self.is_jax_array(value, scope) for value in assigned)
                if scope.name:
                    return name in scope.parameters and name in self.tracer_names
                return name in self.tracer_names or self.kinds.get(name, "").startswith("jax")
            case ast.Name(id=name):
                return self.kinds.get(name, "").startswith("jax")
            case ast.Call(func=ast.Attribute(value=value)) if not self.dotted(node.func, scope):
                return self.is_jax_array(value, scope)
            case ast.Call(func=function):
                return self.dotted(function, scope).startswith(("jax.numpy.", "jax.lax.", "jax.nn"))
            case ast.BinOp(left=left, right=right):
                return any(self.is_jax_array(side, scope) for side in (left, right))
            case ast.Attribute(attr=attr) if attr in STATIC_ATTRIBUTES:
                return False
            case ast.Attribute(value=value) | ast.Subscript(value=value):
                return self.is_jax_array(value, scope)
            case ast.UnaryOp(operand=value):
                return self.is_jax_array(value, scope)
            case _:
                return False

    def is_rebound(self, name: str, line: int, scope: TracedScope) -> bool:
        """Whether the cell has given a name a new value before traced code reads it on a line."""
        stores = [
            node.lineno
            for node in (own_nodes(self.cell.tree.body) if self.cell is not None else ())
            if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store)
        ]
        if scope.name or scope.source:
            return bool(stores)  # a function reads the value that the name has when it is called
        return any(store < line for store in stores)

    @cached_property
    def compiled_names(self) -> dict[str, str]:
        """Names that call a compiled function of the run, with the name of its program: `step`,
        also of `step = jax.jit(f)`."""
        names = {program.name: program.name for program in self._programs}
        for code in self.codes:
            for node in code.nodes:
                match node:
                    case ast.Assign(
                        targets=[ast.Name(id=name)],
                        value=ast.Call(func=function, args=[ast.Name(id=wrapped), *_]),
                    ) if wrapped in names and self.dotted(function).rpartition(".")[2] in _JITS:
                        names[name] = names[wrapped]
                    case _:
                        continue
        return names

    def name_lines(
        self, name: str, context: type[ast.expr_context] = ast.expr_context
    ) -> list[int]:
        """Lines of the cell on which a name occurs, read or stored as `context` says."""
        return [
            node.lineno
            for node in (self.cell.nodes if self.cell is not None else ())
            if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, context)
        ]

    def _literals(self) -> dict[str, str]:
        """Names that a module assigns a container or a logger to."""
        return {
            node.targets[0].id: kind
            for code in self.codes
            for node in code.tree.body
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
            if len(node.targets) == 1 and (kind := _container(node.value))
        }

    def _find_scopes(self, evidence: Evidence) -> list[TracedScope]:
        """The cell in block form, and functions that an equation or a program comes from."""
        frames = {
            (frame.source, frame.function.rpartition(".")[2], frame.span.line)
            for program in evidence.record.programs
            for equation in program.equations
            for frame in equation.frames
        }
        programs = {program.name for program in evidence.record.programs}
        found: list[TracedScope] = []
        if self.block and self.cell is not None:
            found.append(TracedScope(0, "", tuple(self.cell.tree.body), frozenset()))
        for code in self.codes:
            names = Counter(node.name for node in code.functions)
            for node in code.functions:
                lines = range(node.lineno, (node.end_lineno or node.lineno) + 1)
                ran = any(
                    source == code.index and name == node.name and line in lines
                    for source, name, line in frames
                )
                # A program without an equation of its function, as one that returns a counter.
                known = node in code.tree.body or (
                    names[node.name] == 1 and "jit" in decorators(node)
                )
                is_program = code.index == 0 and known and node.name in programs
                if ran or (is_program and not self.block):
                    given = frozenset(parameters(node.args))
                    own = given | Binds.of(node.body).names
                    found.append(TracedScope(code.index, node.name, tuple(node.body), own, given))
        return found


def decorators(node: Function) -> str:
    """The code of a function's decorators."""
    return " ".join(map(ast.unparse, node.decorator_list))


def root(path: str) -> str:
    """`params` of `params['w'].x`."""
    for sign in "[.":
        path = path.partition(sign)[0]
    return path


def value_names(node: ast.AST) -> Iterator[str]:
    """Names whose values an expression uses: not those under `.shape`, `len(…)` and the like."""
    match node:
        case ast.Name(ctx=ast.Load()):
            yield node.id
        case ast.Attribute(attr=attr) if attr in STATIC_ATTRIBUTES:
            return
        case ast.Call(func=ast.Name(id=called)) if called in STATIC_CALLS:
            return
        case _:
            for child in ast.iter_child_nodes(node):
                yield from value_names(child)


def line_of(node: ast.AST) -> int:
    return int(getattr(node, "lineno", 0))


def _imports(trees: Iterable[ast.Module]) -> Iterator[tuple[str, str]]:
    for tree in trees:
        for node in nodes_of(tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    top = alias.name.partition(".")[0]
                    yield (alias.asname, alias.name) if alias.asname else (top, top)
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                for alias in node.names:
                    yield alias.asname or alias.name, f"{node.module}.{alias.name}"


_BUILDERS = {"list": "list", "dict": "dict", "set": "set", "defaultdict": "dict", "deque": "list"}


def _container(value: ast.expr) -> str:
    match value:
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
            return "logging.Logger" if name == "getLogger" else _BUILDERS.get(name, "")
        case _:
            kind = type(value).__name__.removesuffix("Comp").lower()
            return kind if kind in ("list", "dict", "set") else ""
