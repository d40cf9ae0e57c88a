"""Block form: a cell as one program.

The cell runs as module-level code in the user's own namespace while JAX traces it, with tracers in
place of its traced inputs; then the namespace is put back. So `del`, `global`, walrus, conditional
names and late binding keep their meaning, which a cell rewritten as a function would lose. What
the cell bound is written when the compiled program has run: all of it, or nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from types import CodeType, FunctionType
from typing import Any

import jax

from jaxscope.analysis.names import last_expression, read_before_assigned
from jaxscope.capture import containers, nnx
from jaxscope.capture.arguments import Arguments, Slot
from jaxscope.capture.containers import Branch, Copies, Leaf, Node, Object
from jaxscope.capture.leaves import Choice, aval_text, can_be_traced, choose, nbytes, short_repr
from jaxscope.capture.mutation import Photograph, contents, same_contents
from jaxscope.capture.outcome import Outcome, Reader
from jaxscope.capture.refusal import changed_in_place
from jaxscope.capture.settings import Settings
from jaxscope.model import Value, ValueKind

_MISSING = object()


@dataclass(frozen=True, slots=True)
class CellText:
    """A cell's text and what Python made of it."""

    text: str
    """The whole cell, its `%%` line first."""
    body: str
    file: str
    """The name under which tracebacks and linecache know it."""
    tree: ast.Module
    """The body's tree, with the line numbers of the whole cell."""
    silenced: bool
    """Ends with `;`: no `Out`."""
    flags: int = 0
    """Compiler flags of the shell, from its `from __future__` imports."""

    def code(self) -> tuple[CodeType, CodeType | None]:
        """The statements, and the last expression apart, whose value is `Out`."""
        expression = last_expression(self.tree)
        body = self.tree.body if expression is None else self.tree.body[:-1]
        statements = compile(
            ast.Module(body, type_ignores=[]), self.file, "exec", self.flags, dont_inherit=True
        )
        if expression is None:
            return statements, None
        last = ast.Expression(expression)
        return statements, compile(last, self.file, "eval", self.flags, dont_inherit=True)


class Block:
    """One run of a cell in block form: its inputs, the program to trace, and its outcome."""

    def __init__(
        self, cell: CellText, namespace: MutableMapping[str, Any], settings: Settings
    ) -> None:
        self.cell = cell
        self._namespace = namespace
        self._settings = settings
        self._code = cell.code()
        self._nodes = self._survey()
        self._objects = self._split()
        self._photograph = self._take_photograph()
        self._outcome: Outcome | None = None

    # Inputs.

    def arguments(self) -> Arguments:
        """The traced leaves, packed as the program takes them."""
        slots: list[Slot] = []
        packed: dict[str, Any] = {}

        def take(leaf: Leaf) -> int:
            slots.append(Slot(leaf.path, leaf.value, leaf.choice.reason, self._donated(leaf.path)))
            return len(slots) - 1

        for name, node in self._nodes.items():
            if not isinstance(node, Object) and containers.is_traced(node):
                tree = containers.pack(node, take)
                if jax.tree_util.tree_leaves(tree):
                    packed[name] = tree
        if self._objects is not None:
            state = [
                take(Leaf(leaf.path, leaf.value, leaf.choice))
                for leaf in self._objects.leaves
                if leaf.choice.traced
            ]
            if state:
                packed["nnx_state"] = state
        return Arguments(packed, tuple(slots))

    def static_values(self) -> tuple[Value, ...]:
        """The static inputs that are data: what a change of would change the program."""
        return tuple(
            Value(
                leaf.path,
                ValueKind.STATIC,
                aval_text(leaf.value) if leaf.choice.foreign else short_repr(leaf.value),
                nbytes(leaf.value) if leaf.choice.foreign else None,
                reason=leaf.choice.reason,
            )
            for node in self._nodes.values()
            for leaf in containers.leaves(node)
            if not leaf.choice.traced and not _is_code(leaf.value)
        )

    def foreign(self) -> tuple[str, ...]:
        """Paths of inputs of array types that JAX does not know."""
        nodes = self._nodes.values()
        every = (leaf for node in nodes for leaf in containers.leaves(node))
        return tuple([leaf.path for leaf in every if leaf.choice.foreign])

    # The trace.

    def program(self, *packed: Any) -> list[Any]:
        """Run the cell on tracers; the outputs are the traced leaves of its results."""
        if self._outcome is not None:
            raise RuntimeError("jaxscope traced a cell twice; this is an error of jaxscope.")
        tracers = jax.tree_util.tree_leaves(packed)
        arguments = self.arguments()
        order = jax.tree_util.tree_leaves(tuple(arguments.packed.values()))
        by_path = {
            arguments.slots[slot].path: tracer for slot, tracer in zip(order, tracers, strict=True)
        }
        outcome = self._run(by_path)
        self._outcome = outcome
        return outcome.traced

    @property
    def outcome(self) -> Outcome:
        """What the cell bound. Raises RuntimeError before `program` was traced."""
        if self._outcome is None:
            raise RuntimeError("the cell has not been traced yet")
        return self._outcome

    def write(self, results: Sequence[Any]) -> Any:
        """Put the results into the namespace and return the last expression's value."""
        outcome = self.outcome
        names, value, settle = outcome.settled(results)
        if self._objects is not None and outcome.objects is not None:
            self._objects.update(outcome.objects, settle)
        self._namespace.update(names)
        for name in outcome.deleted:
            self._namespace.pop(name, None)
        return value

    def _run(self, tracers: Mapping[str, Any]) -> Outcome:
        namespace, copies = self._namespace, Copies()
        merged = self._merge(tracers)
        originals: dict[int, tuple[Any, Any]] = {}

        def leaf(node: Leaf) -> Any:
            tracer = tracers[node.path]
            originals[id(tracer)] = (tracer, node.value)
            return tracer

        def thing(node: Object) -> Any:
            assert merged is not None
            assert self._objects is not None
            return merged.objects[_position(self._objects.objects, node.value)]

        values = {
            name: containers.substitute(node, leaf, thing, copies)
            for name, node in self._nodes.items()
        }
        if self._objects is not None:
            for state in self._objects.leaves:
                if state.choice.traced:
                    originals[id(tracers[state.path])] = (tracers[state.path], state.value)
        held = [(made, contents(made), path) for made, path in copies]
        before = dict(namespace)
        value: Any = None
        try:
            namespace.update(values)
            start = dict(namespace)
            with self._photograph.arrays_locked():
                exec(self._code[0], namespace)  # type: ignore[arg-type]
                if self._code[1] is not None:
                    value = eval(self._code[1], namespace)  # type: ignore[arg-type]
            end = dict(namespace)
        finally:
            _put_back(namespace, before)
            changes = self._photograph.changes()
            self._photograph.restore()
        for path, container in [(c.path, c.container) for c in changes] + [
            (path, made) for made, was, path in held if not same_contents(was, contents(made))
        ]:
            raise changed_in_place(path, container, self.cell.tree)
        changed = {name: new for name, new in end.items() if start.get(name, _MISSING) is not new}
        reader = Reader(originals, copies, merged, self._objects, self.cell.tree, id(namespace))
        return reader.read(
            changed,
            tuple([n for n in start if n not in end]),
            None if self.cell.silenced else value,
        )

    # Set-up.

    def _survey(self) -> dict[str, Node]:
        reads = read_before_assigned(self.cell.tree)
        self._check_names(reads)
        return {
            name: containers.survey(
                name, self._namespace[name], decide=self._decide(name), is_object=nnx.is_nnx
            )
            for name in reads
            if name in self._namespace and not _is_code(self._namespace[name])
        }

    def _check_names(self, reads: Sequence[str]) -> None:
        settings = self._settings
        for option, names in (
            ("-s", settings.static),
            ("-t", settings.traced),
            ("-d", settings.donate),
        ):
            for name in names:
                if name in reads and name in self._namespace:
                    continue
                known = ", ".join(n for n in reads if n in self._namespace) or "none"
                raise ValueError(
                    f"{option} names `{name}`, which this cell does not read from the namespace. "
                    f"Its inputs are: {known}."
                )

    def _decide(self, name: str) -> Callable[[Any], Choice]:
        if name in self._settings.static:
            return lambda value: Choice(False, "static by -s")
        if name in self._settings.traced:
            return lambda value: (
                Choice(True, "traced by -t") if can_be_traced(value) else choose(value)
            )
        return choose

    def _donated(self, path: str) -> bool:
        return path.partition("[")[0].partition(".")[0] in self._settings.donate

    def _split(self) -> nnx.Split | None:
        found: dict[int, Object] = {}

        def walk(node: Node) -> None:
            if isinstance(node, Object):
                found.setdefault(id(node.value), node)
            elif isinstance(node, Branch):
                for child in node.children:
                    walk(child)

        for node in self._nodes.values():
            walk(node)
        if not found:
            return None
        nodes = list(found.values())
        return nnx.Split([n.value for n in nodes], [n.path for n in nodes])

    def _merge(self, tracers: Mapping[str, Any]) -> nnx.Merged | None:
        if self._objects is None:
            return None
        return self._objects.merge(
            [tracers.get(leaf.path, leaf.value) for leaf in self._objects.leaves]
        )

    def _take_photograph(self) -> Photograph:
        photograph = Photograph()
        for name, value in _reachable(self._namespace, read_before_assigned(self.cell.tree)):
            if not nnx.is_nnx(value):
                photograph.take(name, value)
        return photograph


def _reachable(namespace: Mapping[str, Any], names: Sequence[str]) -> list[tuple[str, Any]]:
    """The values that the names, and the user's functions among them, can reach by name."""
    found: dict[tuple[int, str], tuple[str, Any]] = {}
    waiting: list[tuple[Mapping[str, Any], str]] = [(namespace, name) for name in names]
    while waiting:
        scope, name = waiting.pop()
        key = (id(scope), name)
        if key in found or name not in scope:
            continue
        value = scope[name]
        found[key] = (name, value)
        function = getattr(value, "__wrapped__", value)
        if isinstance(function, FunctionType) and _is_users(function):
            waiting.extend((function.__globals__, used) for used in _names_of(function.__code__))
            cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=False)
            closure = {free: cell.cell_contents for free, cell in cells if not _is_empty(cell)}
            waiting.extend((closure, free) for free in closure)
    return [entry for entry in found.values() if not _is_code(entry[1])]


def _names_of(code: CodeType) -> list[str]:
    names = list(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names.extend(_names_of(constant))
    return names


def _is_empty(cell: Any) -> bool:
    try:
        _ = cell.cell_contents
    except ValueError:
        return True
    return False


def _is_users(function: FunctionType) -> bool:
    file = function.__code__.co_filename
    return "site-packages" not in file and "/lib/python" not in file


def _is_code(value: Any) -> bool:
    """Modules, classes and functions: never data."""
    from types import BuiltinFunctionType, MethodType, ModuleType

    kinds = (ModuleType, type, FunctionType, BuiltinFunctionType, MethodType)
    return isinstance(value, kinds) or (callable(value) and hasattr(value, "__wrapped__"))


def _position(objects: Sequence[Any], value: Any) -> int:
    return next(i for i, item in enumerate(objects) if item is value)


def _put_back(namespace: MutableMapping[str, Any], before: Mapping[str, Any]) -> None:
    for name in namespace.keys() - before.keys():
        del namespace[name]
    for name, value in before.items():
        if namespace.get(name, _MISSING) is not value:
            namespace[name] = value
