"""Derivatives of a traced program, in every mode, by JAX's own functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from jaxscope.capture.options.composition import GradMode, GradOptions
from jaxscope.capture.options.error_origin import calls_user_code
from jaxscope.capture.options.refusals import RefusedError
from jaxscope.capture.options.settings import TransformError
from jaxscope.capture.transforms.shapes import Level
from jaxscope.capture.transforms.wrt import Selection, complex_names, matching, select

Program = Callable[..., tuple[Any, list[Any]]]

_NESTS = (GradMode.GRAD, GradMode.JACFWD, GradMode.JACREV)
_NESTED = {GradMode.GRAD: jax.grad, GradMode.JACFWD: jax.jacfwd, GradMode.JACREV: jax.jacrev}


def check(options: GradOptions, level: Level) -> Selection:
    """The inputs to differentiate by. Raises TransformError for options that do not fit."""
    selection = select(level, options.wrt)
    given = len(options.wrt) or len(selection.names)
    if options.order > 1 and options.mode not in _NESTS:
        raise TransformError(
            f"{level.where}--order {options.order} nests grad, jacfwd or jacrev, but not "
            f"{options.mode}. Leave --order out, or choose one of those modes."
        )
    if options.order > 1 and options.mode is GradMode.GRAD:
        slots = selection.slots()
        whole = [s for s in slots if level.shapes[s]]
        if len(slots) > 1 or whole:
            name = level.arguments.leaves[(whole or slots)[0]].path
            what = f"`{name}` has shape {level.shapes[whole[0]]}" if whole else "there are several"
            raise TransformError(
                f"{level.where}--order {options.order} needs one scalar in -w, because each "
                f"gradient must be a scalar again; {what}. Use `--mode hessian`, or `--mode jacrev "
                f"--order {options.order}`."
            )
    if options.tangents and options.mode is not GradMode.JVP:
        raise TransformError(f"{level.where}--tangents requires `--mode jvp`.")
    if options.cotangent and options.mode is not GradMode.VJP:
        raise TransformError(f"{level.where}--cotangent requires `--mode vjp`.")
    if options.tangents and len(options.tangents) != given:
        raise TransformError(
            f"{level.where}--tangents names {len(options.tangents)} and -w {given}: give one "
            "tangent for each, in the same order."
        )
    for name in (*options.tangents, *((options.cotangent,) if options.cotangent else ())):
        if not level.slots_of(name):
            option = "--tangents" if options.tangents else "--cotangent"
            raise level.unknown(option, name)
    return selection


@dataclass(frozen=True, slots=True)
class Derivative:
    """One derivative at its level of the composition."""

    options: GradOptions
    level: Level
    inside: Sequence[str]
    """Names of the transforms inside of it."""
    line: int | None
    """Line of the value to differentiate, in the user's text."""

    def of_program(
        self, program: Program, value_of: Callable[[Callable[[Any], Any], Any], Any]
    ) -> Program:
        """The derivative as a program: its value is the derivative, its results the primal ones.

        `value_of` gives the shapes of a function's value.
        """
        selection = check(self.options, self.level)
        arguments = self.level.arguments

        def derivative(*packed: Any) -> tuple[Any, list[Any]]:
            by_path = arguments.flat(packed)
            values = [by_path[leaf.path] for leaf in arguments.leaves]

            def function(tree: Any) -> tuple[Any, tuple[Any, list[Any]]]:
                value, results = program(*arguments.pack(selection.put(values, tree)))
                return (value[0] if self.options.has_aux else value), (value, results)

            tree = selection.take(values)
            loss = self._loss(value_of(lambda given: function(given)[1][0], tree))
            if why := self._unfit(loss):
                raise RefusedError(why, self.line)
            found, (value, results) = self._of_values(function, selection, values, loss)
            if self.options.value:
                return (value, found), results
            return (found, value[1]) if self.options.has_aux else found, results

        return derivative

    @calls_user_code
    def _of_values(
        self,
        function: Callable[[Any], tuple[Any, Any]],
        selection: Selection,
        values: Sequence[Any],
        loss: Any,
    ) -> tuple[Any, Any]:
        """The derivative and the aux value of `function`, whose value has the shapes of `loss`."""
        options, level = self.options, self.level
        holomorphic = self._holomorphic(loss, selection)
        tree = selection.take(values)
        match options.mode:
            case GradMode.JVP:
                tangents = jax.tree_util.tree_map(jnp.ones_like, tree)
                if options.tangents:
                    matched = matching(level, selection.names, options.tangents)
                    chosen = [values[matched.get(i, i)] for i in range(len(values))]
                    tangents = selection.take(chosen)
                _, found, kept = jax.jvp(function, (tree,), (tangents,), has_aux=True)
                return found, kept
            case GradMode.VJP:
                primal, pull, kept = jax.vjp(function, tree, has_aux=True)
                cotangent = jax.tree_util.tree_map(jnp.ones_like, primal)
                if options.cotangent:
                    name = options.cotangent
                    cotangent = level.inputs.trees((name,), lambda slot: values[slot])[name]
                    _check_cotangent(name, cotangent, primal, level)
                return pull(cotangent)[0], kept
            case GradMode.HESSIAN:
                return jax.hessian(function, has_aux=True, holomorphic=holomorphic)(tree)
            case mode:
                made: Any = function
                for _ in range(options.order):
                    made = _NESTED[mode](made, has_aux=True, holomorphic=holomorphic)
                return made(tree)

    def _loss(self, value: Any) -> Any:
        """The part of the value that is differentiated."""
        if not self.options.has_aux:
            return value
        if not isinstance(value, tuple) or len(value) != 2:
            raise RefusedError(
                f"--has-aux needs a value of two parts, `(loss, aux)`, but it is {_kind(value)}.",
                self.line,
            )
        return value[0]

    def _unfit(self, loss: Any) -> str:
        """The reason why JAX takes no derivative of such a value; empty if it does."""
        leaves = jax.tree_util.tree_leaves(loss)
        wrong = [leaf for leaf in leaves if not jnp.issubdtype(leaf.dtype, jnp.inexact)]
        if wrong:
            return (
                f"the value to differentiate is {wrong[0].dtype}, but JAX differentiates floats. "
                "Compute it in floats, or convert an input with `.astype(float)`."
            )
        scalar = len(leaves) == 1 and leaves[0].shape == ()
        if self.options.mode is not GradMode.GRAD or (scalar and hasattr(loss, "shape")):
            return ""
        maps = [name for name in self.inside if name in ("vmap", "pmap")]
        if maps and not scalar:
            return (
                f"`grad` outside `{maps[0]}` differentiates a batch, but JAX takes gradients of "
                f"scalars only. Put the map outside, `{maps[0]} … | grad …`, or use "
                "`--mode jacrev`."
            )
        if "grad" in self.inside and not scalar:
            what = _kind(loss) if not hasattr(loss, "shape") else f"of shape {loss.shape}"
            return (
                f"the outer `grad` needs a scalar, but the inner derivative is {what}. "
                "Use `--mode jacrev` outside, or `--mode hessian` alone."
            )
        if not hasattr(loss, "shape"):
            return (
                f"the loss is {_kind(loss)}, but JAX takes gradients of one scalar. End the cell "
                "with the loss alone, use --has-aux for `(loss, aux)`, or `--mode jacrev`."
            )
        return (
            f"the loss has shape {loss.shape}, but JAX takes gradients of scalars only. Reduce "
            "it with `.mean()` or `.sum()`, or use `--mode jacrev`."
        )

    def _holomorphic(self, loss: Any, selection: Selection) -> bool:
        """Whether to pass `holomorphic=True` to JAX."""
        mode, level = self.options.mode, self.level
        complex_loss = any(
            jnp.issubdtype(leaf.dtype, jnp.complexfloating)
            for leaf in jax.tree_util.tree_leaves(loss)
        )
        if mode in (GradMode.JVP, GradMode.VJP):
            return False
        complex_inputs = complex_names(level, selection)
        leaves = level.arguments.leaves
        real = [leaves[i].path for i in selection.slots() if leaves[i].path not in complex_inputs]
        if complex_loss and real:
            raise RefusedError(
                f"the value is complex and `{real[0]}` is real, so its derivative is not one "
                "number. Take `.real`, `.imag` or `abs` of the value, make the input complex, or "
                "use `--mode jvp`.",
                self.line,
            )
        if complex_inputs and not complex_loss and mode in (GradMode.JACFWD, GradMode.HESSIAN):
            raise RefusedError(
                f"the value is real and `{complex_inputs[0]}` is complex, so forward mode cannot "
                "give one number. Use `--mode grad` or `--mode jacrev`.",
                self.line,
            )
        return complex_loss


def _check_cotangent(name: str, cotangent: Any, value: Any, level: Level) -> None:
    alike = jax.tree_util.tree_structure(cotangent) == jax.tree_util.tree_structure(value)
    if not alike or _types(cotangent) != _types(value):
        raise TransformError(
            f"{level.where}--cotangent names `{name}`, which is {_shown(cotangent)}, but the value "
            f"is {_shown(value)}. A cotangent needs the pytree structure, shapes and dtypes of the "
            "value."
        )


def _types(tree: Any) -> list[str]:
    """`float32[4,3]` for each leaf."""
    avals = [jax.typeof(leaf) for leaf in jax.tree_util.tree_leaves(tree)]
    return [f"{aval.dtype}[{','.join(map(str, aval.shape))}]" for aval in avals]


def _shown(tree: Any) -> str:
    types = ", ".join(_types(tree))
    bare = jax.tree_util.all_leaves([tree])
    return types if bare else f"a {type(tree).__name__} of {types or 'nothing'}"


def conjugate_note(options: GradOptions, level: Level) -> str:
    """The convention of a gradient by complex inputs; empty where there are none."""
    if options.mode not in (GradMode.GRAD, GradMode.VJP, GradMode.JACREV):
        return ""
    names = complex_names(level, select(level, options.wrt))
    if not names:
        return ""
    which = ", ".join(f"`{name}`" for name in names)
    return (
        f"The gradient by complex {which} follows JAX's convention, the conjugate of PyTorch's: "
        "to descend, step against its conjugate."
    )


def of_function(
    function: Callable[..., Any], options: GradOptions, argnums: int | tuple[int, ...]
) -> Any:
    """The derivative of a function as JAX's own wrapper of it, for a cell in decorator form."""
    mode, order = options.mode, options.order
    if mode in (GradMode.JVP, GradMode.VJP):
        raise TransformError(
            f"Line 1: JAX has no decorator for {mode}. Run the cell with --block, or one call with "
            f"`%jaxgrad --mode {mode} f(x)`."
        )
    if options.value and (mode is not GradMode.GRAD or order > 1):
        raise TransformError(
            "Line 1: as a decorator, JAX returns the value with a first-order gradient only. Leave "
            "--value out, or run the cell with --block."
        )
    keywords: dict[str, Any] = {
        "argnums": argnums,
        "has_aux": options.has_aux,
        "holomorphic": options.holomorphic,
    }
    if mode is GradMode.HESSIAN:
        return jax.hessian(function, **keywords)
    if options.value:
        return jax.value_and_grad(function, **keywords)
    for _ in range(order):
        function = _NESTED[mode](function, **keywords)
    return function


def _kind(value: Any) -> str:
    if hasattr(value, "shape"):
        return f"an array of shape {value.shape}" if value.shape else "a scalar"
    if value is None:
        return "None"
    name = type(value).__name__
    return f"a {name} of {len(value)}" if hasattr(value, "__len__") else f"a {name}"
