"""Derivatives of a traced program, in every mode, by JAX's own functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from jaxscope.capture.options.error_origin import calls_user_code
from jaxscope.capture.options.refusals import RefusedError
from jaxscope.capture.options.stack import GradMode, GradOptions, TransformError
from jaxscope.capture.transforms.shapes import Level
from jaxscope.capture.transforms.wrt import Selection, complex_names, matching, select

Program = Callable[..., tuple[Any, list[Any]]]
Line = int | None

_NESTS = (GradMode.GRAD, GradMode.JACFWD, GradMode.JACREV)


def check(options: GradOptions, level: Level) -> Selection:
    """What is differentiated by. Raises TransformError for options that do not fit each other."""
    selection = select(level, options.wrt)
    given = len(options.wrt) or len(selection.names)
    if options.order > 1 and options.mode not in _NESTS:
        raise TransformError(
            f"{level.where}--order {options.order} nests grad, jacfwd or jacrev, and not "
            f"{options.mode}. Leave --order out, or choose one of those modes."
        )
    if options.order > 1 and options.mode is GradMode.GRAD:
        slots = selection.slots()
        whole = [s for s in slots if level.shapes[s]]
        if len(slots) > 1 or whole:
            name = level.arguments.slots[(whole or slots)[0]].path
            what = f"`{name}` has shape {level.shapes[whole[0]]}" if whole else "there are several"
            raise TransformError(
                f"{level.where}--order {options.order} takes the gradient of a gradient, which "
                f"must be a scalar again, so -w can name one scalar; {what}. Use `--mode hessian`, "
                f"or `--mode jacrev --order {options.order}`."
            )
    if options.tangents and options.mode is not GradMode.JVP:
        raise TransformError(f"{level.where}--tangents goes with `--mode jvp` only.")
    if options.cotangent and options.mode is not GradMode.VJP:
        raise TransformError(f"{level.where}--cotangent goes with `--mode vjp` only.")
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


def of_program(
    program: Program,
    options: GradOptions,
    level: Level,
    value_of: Callable[[Callable[[Any], Any], Any], Any],
    inside: Sequence[str],
    line: Line,
) -> Program:
    """The derivative as a program: its value is the derivative, its results are the primal ones.

    `value_of` gives the shapes of what a function returns; `inside` names the transforms below,
    `line` is where the value stands in the user's text.
    """
    selection = check(options, level)
    arguments = level.arguments

    def derivative(*packed: Any) -> tuple[Any, list[Any]]:
        by_path = arguments.flat(packed)
        values = [by_path[slot.path] for slot in arguments.slots]

        def function(tree: Any) -> tuple[Any, tuple[Any, list[Any]]]:
            value, results = program(*arguments.pack(selection.put(values, tree)))
            return (value[0] if options.has_aux else value), (value, results)

        tree = selection.take(values)
        value = value_of(lambda given: function(given)[1][0], tree)
        loss = _loss(value, options, line)
        _check_loss(loss, options, inside, line)
        holomorphic = _holomorphic(loss, options, level, selection, line)
        found, (value, results) = _derivative(
            function, options, level, selection, values, holomorphic
        )
        if options.value:
            return (value, found), results
        return (found, value[1]) if options.has_aux else found, results

    return derivative


@calls_user_code
def _derivative(
    function: Callable[[Any], tuple[Any, Any]],
    options: GradOptions,
    level: Level,
    selection: Selection,
    values: Sequence[Any],
    holomorphic: bool,
) -> tuple[Any, Any]:
    tree = selection.take(values)
    match options.mode:
        case GradMode.JVP:
            tangents = jax.tree_util.tree_map(jnp.ones_like, tree)
            if options.tangents:
                matched = matching(level, selection.names, options.tangents)
                tangents = selection.take([values[matched.get(i, i)] for i in range(len(values))])
            _, found, kept = jax.jvp(function, (tree,), (tangents,), has_aux=True)
            return found, kept
        case GradMode.VJP:
            loss, pull, kept = jax.vjp(function, tree, has_aux=True)
            cotangent = jax.tree_util.tree_map(jnp.ones_like, loss)
            if options.cotangent:
                name = options.cotangent
                cotangent = level.inputs.trees((name,), lambda slot: values[slot])[name]
                _check_cotangent(name, cotangent, loss, level)
            return pull(cotangent)[0], kept
        case GradMode.HESSIAN:
            return jax.hessian(function, has_aux=True, holomorphic=holomorphic)(tree)
        case mode:
            one = {
                GradMode.GRAD: jax.grad,
                GradMode.JACFWD: jax.jacfwd,
                GradMode.JACREV: jax.jacrev,
            }[mode]
            made: Any = function
            for _ in range(options.order):
                made = one(made, has_aux=True, holomorphic=holomorphic)
            return made(tree)


def _check_cotangent(name: str, cotangent: Any, value: Any, level: Level) -> None:
    alike = jax.tree_util.tree_structure(cotangent) == jax.tree_util.tree_structure(value)
    if not alike or _types(cotangent) != _types(value):
        raise TransformError(
            f"{level.where}--cotangent names `{name}`, which is {_shown(cotangent)}, and the value "
            f"is {_shown(value)}. A cotangent needs the structure, the type and the shape of the "
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
    """What to know of a gradient by complex inputs; empty where there are none."""
    if options.mode not in (GradMode.GRAD, GradMode.VJP, GradMode.JACREV):
        return ""
    names = complex_names(level, select(level, options.wrt))
    if not names:
        return ""
    which = ", ".join(f"`{name}`" for name in names)
    return (
        f"The gradient by complex {which} is JAX's, the conjugate of the one that PyTorch gives: "
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
            "Line 1: as a decorator, JAX returns the value beside a first gradient only. Leave "
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
    one = {GradMode.GRAD: jax.grad, GradMode.JACFWD: jax.jacfwd, GradMode.JACREV: jax.jacrev}[mode]
    for _ in range(order):
        function = one(function, **keywords)
    return function


def _loss(value: Any, options: GradOptions, line: Line) -> Any:
    """The part of the value that is differentiated."""
    if not options.has_aux:
        return value
    if not isinstance(value, tuple) or len(value) != 2:
        raise RefusedError(
            "--has-aux needs a value of two parts, `(loss, aux)`, and this one is "
            f"{_kind(value)}. Nothing was written.",
            line,
        )
    return value[0]


def _check_loss(loss: Any, options: GradOptions, inside: Sequence[str], line: Line) -> None:
    leaves = jax.tree_util.tree_leaves(loss)
    wrong = [leaf for leaf in leaves if not jnp.issubdtype(leaf.dtype, jnp.inexact)]
    if wrong:
        raise RefusedError(
            f"the value to differentiate is {wrong[0].dtype}, and JAX differentiates floats. "
            "Compute it in floats, or convert an input with `.astype(float)`. Nothing was written.",
            line,
        )
    if options.mode is not GradMode.GRAD:
        return
    maps = [name for name in inside if name in ("vmap", "pmap")]
    if maps and (len(leaves) != 1 or leaves[0].shape != ()):
        raise RefusedError(
            f"`grad` stands outside `{maps[0]}` here, whose value is a batch and no scalar, and "
            "JAX takes gradients of scalars only. Write the map outside, "
            f"`{maps[0]} … | grad …`, or take `--mode jacrev`. Nothing was written.",
            line,
        )
    if "grad" in inside and (len(leaves) != 1 or leaves[0].shape != ()):
        what = _kind(loss) if not hasattr(loss, "shape") else f"of shape {loss.shape}"
        raise RefusedError(
            f"`grad` stands outside another derivative here, whose value is {what} and no scalar. "
            "Take `--mode jacrev` outside, or `--mode hessian` alone. Nothing was written.",
            line,
        )
    if not hasattr(loss, "shape"):
        raise RefusedError(
            f"the loss is {_kind(loss)}, and JAX takes gradients of one scalar. End the cell with "
            "the loss alone, use --has-aux for `(loss, aux)`, or `--mode jacrev` for all of it. "
            "Nothing was written.",
            line,
        )
    if loss.shape:
        raise RefusedError(
            f"the loss has shape {loss.shape}, and JAX takes gradients of scalars only. Reduce it "
            "with `.mean()` or `.sum()`, or take `--mode jacrev`. Nothing was written.",
            line,
        )


def _holomorphic(
    loss: Any, options: GradOptions, level: Level, selection: Selection, line: Line
) -> bool:
    """Whether JAX must be told that the function is complex-differentiable."""
    complex_loss = any(
        jnp.issubdtype(leaf.dtype, jnp.complexfloating) for leaf in jax.tree_util.tree_leaves(loss)
    )
    if options.mode in (GradMode.JVP, GradMode.VJP):
        return False
    complex_inputs = complex_names(level, selection)
    slots = level.arguments.slots
    real = [slots[i].path for i in selection.slots() if slots[i].path not in complex_inputs]
    if complex_loss and real:
        raise RefusedError(
            f"the value is complex and `{real[0]}` is real, so there is no derivative that is one "
            "number. Take `.real`, `.imag` or `abs` of the value, make the input complex, or use "
            "`--mode jvp`. Nothing was written.",
            line,
        )
    if complex_inputs and not complex_loss and options.mode in (GradMode.JACFWD, GradMode.HESSIAN):
        raise RefusedError(
            f"the value is real and `{complex_inputs[0]}` is complex, which forward mode cannot "
            "give as one number. Take `--mode grad` or `--mode jacrev`. Nothing was written.",
            line,
        )
    return complex_loss


def _kind(value: Any) -> str:
    if hasattr(value, "shape"):
        return f"an array of shape {value.shape}" if value.shape else "a scalar"
    if value is None:
        return "None"
    name = type(value).__name__
    return f"a {name} of {len(value)}" if hasattr(value, "__len__") else f"a {name}"
