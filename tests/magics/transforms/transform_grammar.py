"""Random programs under random stacks of transforms, and what plain JAX makes of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import strategies as st

MODES = ("grad", "jvp", "vjp", "jacfwd", "jacrev", "hessian")
VECTORS = (
    "jnp.sin({a}) * {b}",
    "{a} + c * {b}",
    "jnp.tanh({a} * {b})",
    "jnp.where({a} > 0.3, {a}, {b} * {b})",
    "({a} - {b}) / (1.0 + {b} ** 2)",
    "jnp.cumsum({a}) + p['k']",
    "jax.nn.softmax({a}) * {b}",
    "jax.lax.fori_loop(0, 2, lambda i, v: v * 0.5 + {b}, {a})",
)
SCALARS = ("({a} ** 2).sum()", "({a} @ {b}).mean()", "jnp.max({a} * {b})", "c * {a}.sum()")


@dataclass(frozen=True)
class Step:
    """One transform: `grad` with its options, or `vmap` with the axes of `x` and `c`."""

    name: str
    mode: str = "grad"
    wrt: tuple[str, ...] = ()
    value: bool = False
    has_aux: bool = False
    axis: int = 0
    with_c: bool = False
    out_axes: int = 0

    def text(self) -> str:
        if self.name == "jit":
            return "jit"
        if self.name == "vmap":
            parts = [f"vmap -i x={self.axis}", "-i c=0" if self.with_c else ""]
            parts.append(f"--out-axes {self.out_axes}" if self.out_axes else "")
        else:
            parts = [f"grad -w {','.join(self.wrt)} --mode {self.mode}"]
            parts += ["--value" if self.value else "", "--has-aux" if self.has_aux else ""]
        return " ".join(part for part in parts if part)


@dataclass(frozen=True)
class Problem:
    """A cell, the stack above it, and its inputs."""

    body: tuple[str, ...]
    last: str
    steps: tuple[Step, ...]
    """Outermost first."""
    inputs: dict[str, Any]

    @property
    def line(self) -> str:
        return " | ".join(step.text() for step in self.steps)

    @property
    def cell(self) -> str:
        return "\n".join([*self.body, self.last])


PARAMETERS = ("w", "x", "c", "p")


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    # All inputs are read, so that every option names an input.
    names = ["w", "x", "h0"]
    body = ["h0 = w * x + c * p['k']"]
    for number in range(1, draw(st.integers(1, 3)) + 1):
        text = draw(st.sampled_from(VECTORS))
        a, b = draw(st.sampled_from(names)), draw(st.sampled_from(names))
        body.append(f"h{number} = {text.format(a=a, b=b)}")
        names.append(f"h{number}")
    steps = draw(stacks())
    scalar = any(step.mode in ("grad", "hessian") for step in steps if step.name == "grad")
    last = names[-1]
    if scalar or draw(st.booleans()):
        text = draw(st.sampled_from(SCALARS))
        last = text.format(a=names[-1], b=draw(st.sampled_from(names)))
    if any(step.has_aux for step in steps):
        last = f"{last}, {{'seen': {names[-1]} * 2}}"
    shapes = {"x": [3], "c": []}
    for size, step in enumerate(reversed(steps), 2):
        if step.name == "vmap":
            shapes["x"].insert(step.axis, size)
            if step.with_c:
                shapes["c"].insert(0, size)
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    array = {name: jnp.asarray(rng.normal(size=s), jnp.float32) for name, s in shapes.items()}
    inputs = {"w": jnp.asarray(rng.normal(size=3), jnp.float32), **array}
    return Problem(tuple(body), last, steps, {**inputs, "p": {"k": jnp.float32(0.7)}})


@st.composite
def stacks(draw: st.DrawFn) -> tuple[Step, ...]:
    """Up to three transforms in an order that JAX allows, built from the inside out."""
    inner: list[Step] = []
    below = 0
    derived = False
    for _ in range(draw(st.integers(1, 3))):
        name = draw(st.sampled_from(["jit", "vmap", "grad", "grad"]))
        if name == "vmap":
            step = Step(
                "vmap",
                axis=draw(st.integers(0, below)) if below else draw(st.integers(0, 1)),
                with_c=draw(st.booleans()),
                out_axes=draw(st.sampled_from([0, -1])),
            )
            below += 1
        elif name == "grad" and not derived:
            # Over a map the value is no scalar: JAX then takes Jacobians only.
            modes = MODES if not below else ("jvp", "vjp", "jacfwd", "jacrev")
            step = Step(
                "grad",
                draw(st.sampled_from(modes)),
                draw(st.sampled_from([("w",), ("x",), ("w", "x"), ("c",), ("p",), ("w", "p")])),
                draw(st.booleans()),
                draw(st.booleans()),
            )
            derived = True
        elif name == "grad":
            modes = ("jvp", "vjp", "jacfwd", "jacrev")
            step = Step(
                "grad", draw(st.sampled_from(modes)), draw(st.sampled_from([("w",), ("x",)]))
            )
        else:
            step = Step("jit")
        inner.append(step)
    return tuple(reversed(inner))


def by_plain_jax(problem: Problem) -> Any:
    """The value that plain JAX gives for the problem, in our shape: dicts by name."""
    scope: dict[str, Any] = {"jax": jax, "jnp": jnp}
    text = [f"def f({', '.join(PARAMETERS)}):"]
    text += [f"    {line}" for line in problem.body] + [f"    return {problem.last}"]
    exec("\n".join(text), scope)
    made = scope["f"]
    for step in reversed(problem.steps):
        made = applied(step, made)
    # One compile instead of one for each operation.
    return jax.jit(made)(*[problem.inputs[name] for name in PARAMETERS])


def applied(step: Step, function: Callable[..., Any]) -> Callable[..., Any]:
    if step.name == "jit":
        return jax.jit(function)
    if step.name == "vmap":
        axes = {"w": None, "x": step.axis, "c": 0 if step.with_c else None, "p": None}
        return jax.vmap(function, [axes[name] for name in PARAMETERS], step.out_axes)

    def derivative(*values: Any) -> Any:
        by_name = dict(zip(PARAMETERS, values, strict=True))
        chosen = {name: by_name[name] for name in step.wrt}

        def of(given: dict[str, Any]) -> Any:
            merged = {**by_name, **given}
            return function(*[merged[name] for name in PARAMETERS])

        loss = (lambda given: of(given)[0]) if step.has_aux else of
        ones = jax.tree_util.tree_map(jnp.ones_like, chosen)
        if step.mode == "jvp":
            found = jax.jvp(loss, (chosen,), (ones,))[1]
        elif step.mode == "vjp":
            out, pull = jax.vjp(loss, chosen)
            found = pull(jax.tree_util.tree_map(jnp.ones_like, out))[0]
        else:
            found = getattr(jax, step.mode)(loss)(chosen)
        if step.mode != "jvp" and len(step.wrt) == 1:
            found = bare(found, step.wrt[0], twice=step.mode == "hessian")
        if step.value:
            return of(chosen), found
        return (found, of(chosen)[1]) if step.has_aux else found

    return derivative


def bare(tree: Any, name: str, *, twice: bool) -> Any:
    """The derivative by one name without the dict of names around it."""
    is_leaf = lambda node: isinstance(node, dict) and set(node) == {name}  # noqa: E731

    def strip(node: Any) -> Any:
        inner = node[name]
        return bare(inner, name, twice=False) if twice else inner

    return jax.tree_util.tree_map(strip, tree, is_leaf=is_leaf)
