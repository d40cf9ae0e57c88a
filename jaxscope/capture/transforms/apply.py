"""A cell or a call under its transforms: the function to compile, and its results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import jax

from jaxscope.analysis.compiles.causes.text import TRANSFORMS
from jaxscope.capture.compiles.signature.constants import Compared, Constant
from jaxscope.capture.compiles.signature.functions import reads_of
from jaxscope.capture.forms.trial import TracedForm
from jaxscope.capture.inputs.arguments import Arguments, named
from jaxscope.capture.inputs.pytrees import Branch, Object
from jaxscope.capture.jaxpr.untransformed import Base
from jaxscope.capture.options.composition import Composition, GradOptions, PmapOptions, VmapOptions
from jaxscope.capture.options.settings import NoInputError, TransformError
from jaxscope.capture.program.request import CompileRequest
from jaxscope.capture.transforms import derivatives, table
from jaxscope.capture.transforms.shapes import Level
from jaxscope.capture.tree_paths import leaves_with_paths


class TransformedForm:
    """A block or a call under its transforms: the function to trace, and its results."""

    def __init__(self, form: TracedForm, composition: Composition, device: Any) -> None:
        """Raises TransformError for options that do not fit the inputs.

        `device` is the one that the user chose, or None. A name that is bound nowhere raises its
        NameError before a missing input is reported.
        """
        if device is not None and composition.has_pmap:
            raise TransformError(
                f"{form.where}--device names one device, but pmap uses several: leave it out, or "
                "give their number with --devices."
            )
        self._form = form
        self.composition = composition
        table.check(composition, form.where)
        self.levels: list[Level] = []
        if not composition.is_plain:
            missing = None
            try:
                self.levels = table.levels(composition, Level.outermost(form))
            except NoInputError as error:
                missing = error
            if missing is not None:  # not inside `except`, so that a NameError shows no other error
                form.read_unbound()
                raise missing
        self._results = 0
        self._tree: Any = None

    def request(self, name: str, args: tuple[Any, ...], file: str, line: int) -> CompileRequest:
        """The request to compile for these packed arguments; errors name this file and line."""
        form, arguments = self._form, self._form.inputs.arguments
        parameters = list(arguments.packed)  # the arguments themselves would be kept

        def as_user(function: Callable[..., Any]) -> Callable[..., Any]:
            return named(function, name, parameters, file, line)

        base = None
        program = form.program
        if not self.composition.is_plain:

            def traced(*packed: Any) -> tuple[Any, list[Any]]:
                results = form.program(*packed)
                return form.value, results

            base = Base(traced, arguments.paths, as_user)
            made = table.transformed(self.composition, base, self.levels, form.value_line)
            program = self._flat(made)
        return CompileRequest(
            name,
            self.composition.titles,
            jax.jit(as_user(program), donate_argnums=arguments.donated),
            args,
            paths=arguments.paths,
            composition=self.composition,
            base=base,
            constants=self._constants(),
            reads=reads_of(form.functions()),
        )

    def _constants(self) -> list[Constant]:
        found = [
            Constant(node.path, node.original, Compared.CONTAINER)
            if isinstance(node, Branch)
            else Constant(
                node.path, node.value, Compared.NOT if isinstance(node, Object) else Compared.VALUE
            )
            for node in self._form.inputs.not_traced()
        ]
        left_out = self._form.inputs.left_out.items()
        found += [Constant(name, value, left_out=True) for name, value in left_out]
        given = [leaf.value for leaf in self._form.inputs.arguments.leaves]
        arrays = [id(value) for value in given if hasattr(value, "shape")]
        if len(set(arrays)) < len(arrays):  # an array that is used twice may be two the next time
            found.append(Constant("aliases", None, Compared.NOT))
        # A different composition is a different program of the same cell.
        return [Constant(TRANSFORMS, str(self.composition), Compared.TEXT), *found]

    def arguments(self) -> Arguments:
        """The arguments, those that are mapped with a word on their axes."""
        arguments = self._form.inputs.arguments
        if self.composition.is_plain:
            return arguments.with_shared()
        axes: list[list[str]] = [[] for _ in arguments.leaves]
        for segment, level in zip(self.composition.segments, self.levels, strict=False):
            if isinstance(segment.options, VmapOptions | PmapOptions):
                for index, axis in enumerate(level.axes(segment.options.axes, segment.name)):
                    whole = f"whole under {segment.name}"
                    along = f"{segment.name} along axis {axis}"
                    axes[index].append(whole if axis is None else along)
        leaves = [
            replace(leaf, reason=", ".join([leaf.reason, *words]))
            for leaf, words in zip(arguments.leaves, axes, strict=True)
        ]
        return Arguments(arguments.packed, tuple(leaves))

    def notes(self) -> tuple[str, ...]:
        """Conventions of the derivatives that were applied."""
        found = [
            derivatives.conjugate_note(segment.options, level)
            for segment, level in zip(self.composition.segments, self.levels, strict=False)
            if isinstance(segment.options, GradOptions)
        ]
        return tuple([note for note in dict.fromkeys(found) if note])

    def labels(self) -> tuple[str, ...]:
        """Destination of each result: `y`, `params['w']`, `Out`."""
        labels = self._form.outcome.labels
        if not self.composition.differentiates:
            return labels
        made = self._unflat(range(self._tree.num_leaves))
        return (*labels, *(f"Out{path}" for path, _ in leaves_with_paths(made)))

    def finalize(self, results: Sequence[Any]) -> Any:
        """Write the results to where the user expects them; the value to show."""
        if not self.composition.differentiates:
            return self._form.finalize(results)
        self._form.finalize(results[: self._results])
        derivative = self._unflat(results[self._results :])
        return None if self._form.silenced else derivative

    def _flat(self, made: table.Program) -> Callable[..., list[Any]]:
        """The program as a function whose list has the cell's results, then the derivative."""

        def program(*packed: Any) -> list[Any]:
            self._form.check_held()
            value, results = made(*packed)
            self._results = len(results)
            leaves, self._tree = jax.tree_util.tree_flatten(value)
            return [*results, *leaves]

        return program

    def _unflat(self, leaves: Sequence[Any]) -> Any:
        return jax.tree_util.tree_unflatten(self._tree, leaves)
