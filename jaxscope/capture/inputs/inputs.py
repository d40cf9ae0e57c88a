"""The inputs of a program by name: traced and static leaves, and their values in the trace."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

import jax
import numpy as np

from jaxscope.capture.inputs import nnx, pytrees
from jaxscope.capture.inputs.arguments import Arguments, TracedLeaf
from jaxscope.capture.inputs.pytrees import Branch, Copies, InputLeaf, Node, Object
from jaxscope.capture.inputs.traced_or_static import (
    Choice,
    aval_text,
    can_be_traced,
    check_range,
    choose,
    nbytes,
    short_repr,
)
from jaxscope.capture.options.composition import root
from jaxscope.capture.options.settings import Settings, SettingsError
from jaxscope.model import Value, ValueKind
from jaxscope.model.program import ABSTRACT, BY_OPTION, NNX_STATE


@dataclass(frozen=True, slots=True)
class Substituted:
    """The inputs as the trace sees them."""

    values: Mapping[str, Any]
    copies: Copies
    originals: Mapping[int, tuple[Any, Any]]
    """By identity: a tracer, and the user's value that it replaces."""
    merged: nnx.Merged | None
    mapped: bool = False
    """Whether a map adds an axis to every result."""

    def batched(self) -> Substituted:
        """The same for results with a mapped axis.

        An input that the cell binds to a different name is then a new, batched value, and so is a
        container of inputs.
        """
        states = set() if self.merged is None else {id(v) for v in self.merged.after().values()}
        kept = {key: pair for key, pair in self.originals.items() if key in states}
        copies = Copies()
        for made, original, path in self.copies.items():
            if isinstance(made, np.ndarray):
                copies.add(made, original, path)
        return Substituted(self.values, copies, kept, self.merged, mapped=True)


class Inputs:
    """Named values, each leaf of which is traced or static."""

    def __init__(
        self,
        values: Mapping[str, Any],
        settings: Settings,
        *,
        shapes: bool = False,
        asked: Collection[str] = (),
        left_out: Mapping[str, Any] | None = None,
    ) -> None:
        """With `shapes`, a `jax.ShapeDtypeStruct` counts as an array, as in a call.

        Numbers of the names in `asked` are static, because their Python type or text is used.
        `left_out` are the default values of the parameters that a call does not give.
        """
        self.left_out = left_out or {}
        self._asked = asked
        self._settings = settings
        self._shapes = shapes
        self._nodes = {
            name: pytrees.survey(name, value, decide=self._decide(name), is_object=nnx.is_nnx)
            for name, value in values.items()
        }
        self._check_traced()
        self.objects = self._split()
        self.arguments = self._pack()

    def names(self) -> tuple[str, ...]:
        return tuple(self._nodes)

    def traced_names(self) -> tuple[str, ...]:
        """Names of which some leaf is traced."""
        return tuple([n for n, node in self._nodes.items() if pytrees.has_tracer(node)])

    def holds_module(self) -> bool:
        """Whether a module of Equinox is among them, which `jax.jit` takes only if all its leaves
        are arrays."""
        nodes = [part for node in self._nodes.values() for part in pytrees.parts(node)]
        return any(isinstance(n, Branch) and pytrees.is_module(n.original) for n in nodes)

    def path_of(self, value: Any) -> str:
        """The path of the traced leaf with this value; empty where there is none."""
        leaves = self.arguments.leaves
        return next((leaf.path for leaf in leaves if leaf.value is value), "")

    def traced(self) -> tuple[tuple[str, Any], ...]:
        """Paths and values of the traced leaves."""
        return tuple([(leaf.path, leaf.value) for leaf in self.arguments.leaves])

    def numpy_names(self) -> tuple[str, ...]:
        """Names with a NumPy array somewhere inside that is traced."""
        return tuple(
            name
            for name, node in self._nodes.items()
            for leaf in pytrees.leaves(node)
            if leaf.choice.traced and isinstance(leaf.value, np.ndarray)
        )

    def static_values(self) -> tuple[Value, ...]:
        """The static inputs that are data: changing one changes the program."""
        return tuple(
            Value(
                leaf.path,
                ValueKind.STATIC,
                aval_text(leaf.value) if leaf.choice.foreign else short_repr(leaf.value),
                nbytes(leaf.value) if leaf.choice.foreign else None,
                reason=leaf.choice.reason,
            )
            for leaf in self._leaves()
            if not leaf.choice.traced and not is_code(leaf.value)
        )

    def not_traced(self) -> tuple[Node, ...]:
        """All that may decide the program beside the traced leaves: static ones, functions and
        classes too, and the containers, which may have static fields."""
        nodes = [part for node in self._nodes.values() for part in pytrees.parts(node)]
        return tuple([n for n in nodes if not isinstance(n, InputLeaf) or not n.choice.traced])

    def statics(self) -> dict[str, Any]:
        """The static leaves by path: the constants of a generated function."""
        return {leaf.path: leaf.value for leaf in self._leaves() if not leaf.choice.traced}

    def foreign(self) -> tuple[tuple[str, Any], ...]:
        """Paths and values of inputs of array types that JAX does not know."""
        return tuple([(leaf.path, leaf.value) for leaf in self._leaves() if leaf.choice.foreign])

    def trees(self, names: Sequence[str], leaf: Callable[[int], Any]) -> dict[str, Any]:
        """By name: the user's containers with `leaf(index)` at traced leaves and None at others."""
        index = {leaf.path: i for i, leaf in enumerate(self.arguments.leaves)}

        def build(node: Node) -> Any:
            if isinstance(node, Object):
                assert self.objects is not None
                return self.objects.tree(node.path, lambda path: leaf(index[path]))
            if isinstance(node, Branch):
                return node.build([build(child) for child in node.children])
            return leaf(index[node.path]) if node.choice.traced else None

        return {name: build(self._nodes[name]) for name in names}

    def substitute(self, packed: Sequence[Any], *, aliases: bool = True) -> Substituted:
        """The values with tracers, given as the packed arguments, in place of traced leaves.

        With `aliases`, an array that is used twice is one object in the cell too. Under a transform
        it must not be: each use may be mapped along a different axis, or differentiated by.
        """
        tracers = self.arguments.flat(packed)
        copies = Copies()
        originals: dict[int, tuple[Any, Any]] = {}
        merged = None
        if self.objects is not None:
            for state in self.objects.leaves:
                if state.choice.traced:
                    tracer = tracers[state.path]
                    originals[id(tracer)] = (tracer, state.value)
            merged = self.objects.merge(
                [tracers.get(state.path, state.value) for state in self.objects.leaves]
            )

        first: dict[int, Any] = {}

        def leaf(node: InputLeaf) -> Any:
            tracer = tracers[node.path]
            if aliases and isinstance(node.value, (jax.Array, np.ndarray)):
                # An array that is used twice stays one object in the cell too.
                tracer = first.setdefault(id(node.value), tracer)
            originals[id(tracer)] = (tracer, node.value)
            return tracer

        def thing(node: Object) -> Any:
            assert merged is not None
            assert self.objects is not None
            place = next(i for i, o in enumerate(self.objects.objects) if o is node.value)
            return merged.objects[place]

        values = {
            name: pytrees.substitute(node, leaf, thing, copies)
            for name, node in self._nodes.items()
        }
        return Substituted(values, copies, originals, merged)

    def _leaves(self) -> list[InputLeaf]:
        return [leaf for node in self._nodes.values() for leaf in pytrees.leaves(node)]

    def _pack(self) -> Arguments:
        leaves: list[TracedLeaf] = []
        packed: dict[str, Any] = {}

        def take(leaf: InputLeaf) -> int:
            check_range(leaf.path, leaf.value)
            donated = root(leaf.path) in self._settings.donate
            leaves.append(TracedLeaf(leaf.path, leaf.value, leaf.choice.reason, donated))
            return len(leaves) - 1

        for name, node in self._nodes.items():
            if not isinstance(node, Object) and pytrees.has_tracer(node):
                tree = pytrees.pack(node, take)
                if jax.tree_util.tree_leaves(tree):
                    packed[name] = tree
        if self.objects is not None:
            state = {
                leaf.path: take(InputLeaf(leaf.path, leaf.value, leaf.choice))
                for leaf in self.objects.leaves
                if leaf.choice.traced
            }
            if state:
                packed[NNX_STATE] = state
        return Arguments(packed, tuple(leaves))

    def _decide(self, name: str) -> Callable[[Any, bool], Choice]:
        if name in self._settings.static:
            return lambda value, _: Choice(False, BY_OPTION, fresh=type(value) is np.ndarray)
        if name in self._settings.traced:
            return lambda value, in_module: (
                Choice(True, "traced by -t")
                if can_be_traced(value)
                else self._choose(value, in_module)
            )
        if name in self._asked:
            return lambda value, _: Choice(False, "its type or text is used, so static")
        return self._choose

    def _choose(self, value: Any, in_module: bool) -> Choice:
        if self._shapes and isinstance(value, jax.ShapeDtypeStruct):
            return Choice(True, ABSTRACT)
        return choose(value, in_module=in_module)

    def _check_traced(self) -> None:
        for name in self._settings.traced:
            node = self._nodes.get(name)
            if node is not None and not pytrees.has_tracer(node):
                kind = type(node.original if isinstance(node, Branch) else node.value).__name__
                raise SettingsError(
                    f"-t names `{name}`, a {kind}, and JAX traces arrays and numbers only."
                )

    def _split(self) -> nnx.Split | None:
        found: dict[int, Object] = {}
        for node in self._nodes.values():
            for thing in pytrees.objects(node):
                found.setdefault(id(thing.value), thing)
        nodes = list(found.values())
        return nnx.Split([n.value for n in nodes], [n.path for n in nodes]) if nodes else None


def is_code(value: Any) -> bool:
    """Modules, classes, functions and jitted functions: never data."""
    kinds = (ModuleType, type, FunctionType, BuiltinFunctionType, MethodType)
    # Statically: the attributes of a user's object may be computed, and fail.
    wraps = inspect.getattr_static(value, "__wrapped__", None) is not None
    return isinstance(value, kinds) or (callable(value) and wraps)
