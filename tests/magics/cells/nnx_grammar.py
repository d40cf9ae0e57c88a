"""A grammar of cells that train, change and evaluate Flax NNX modules with functions of the cell.

Between the statements, and between the two runs, the module's parameters, static attributes and
structure change.
"""

from __future__ import annotations

from hypothesis import strategies as st

from tests.magics.cells.cell_case import Case

SETUP = """
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx

class Count(nnx.Variable):
    pass

class Net(nnx.Module):
    def __init__(self, seed):
        self.a = nnx.Linear(2, 2, rngs=nnx.Rngs(seed))
        self.scale = nnx.Param(jnp.asarray([1.0, 2.0]))
        self.seen = Count(jnp.asarray(0))
        self.rate = 2
        self.training = True

    def __call__(self, v):
        v = self.a(v) * self.scale[...] * self.rate
        return v if self.training else v * 0.5

net, other = Net(0), Net(1)
net.a.kernel.value = jnp.asarray([[1.0, 2.0], [0.5, -1.0]])
other.a.kernel.value = jnp.asarray([[2.0, 0.0], [1.0, 1.0]])
opt = nnx.Optimizer(net, optax.sgd(0.25), wrt=nnx.Param)
x = jnp.asarray([[1.0, 2.0], [-1.0, 0.5]])
losses, n = [], 2
"""
AFTER = "left = [net(x), other(x), net.seen.value, opt.step.value]\n"
LOSS = "lambda m: jnp.clip(m(v), -4, 4).sum()"
BODIES = (
    ("v, net", ["return net(v)"]),
    ("v, net", ["net.seen.value += 1", "return net(v) * n"]),
    ("v, net", ["net.scale.value = jnp.clip(net.scale.value * 2, -8, 8)", "return net(v)"]),
    ("v, net", ["net.rate = net.rate % 4 + 1", "return net(v)"]),
    ("v, net", ["net.training = not net.training", "return v"]),
    ("v, net", ["return v + net.scale.value if net.training else v"]),
    ("v, net", ["net.extra = nnx.Param(v.sum())", "return net(v)"]),
    ("v, net", ["net.a = other.a", "return net(v)"]),
    ("v, net", [f"return nnx.grad({LOSS})(net)['scale'].value"]),
    ("v, net", ["print('in', v.shape)", "return net(v) if net.seen.value < 2 else v"]),
    ("v, net", ["graph, state = nnx.split(net)", "return nnx.merge(graph, state)(v)"]),
    ("v", ["return net(v)"]),
    ("v", ["other.seen.value += 2", "return other(v)"]),
    (
        "v, net, opt",
        [f"loss, g = nnx.value_and_grad({LOSS})(net)", "opt.update(net, g)", "return loss"],
    ),
)
BETWEEN = (
    "net.scale.value = net.scale.value + 1",
    "net.rate = 3",
    "net.training = not net.training",
    "net.a.bias = nnx.Param(net.a.bias.value + 1)",
    "n = n % 3 + 1",
    "net.seen = Count(jnp.asarray(5))",
    "other.a.kernel.value = other.a.kernel.value * 2",
)
CHANGES = ("", "", *BETWEEN, "net = Net(2)", "net = other", "x = x[:1]", "x = np.asarray(x)")


@st.composite
def nnx_cells(draw: st.DrawFn) -> Case:
    functions: dict[str, str] = {}
    lines: list[str] = []
    for i in range(draw(st.integers(1, 3))):
        parameters, body = draw(st.sampled_from(BODIES))
        functions[f"f{i}"] = parameters
        head = draw(st.sampled_from(("", "", "", "@nnx.jit\n")))
        lines += [*head.splitlines(), f"def f{i}({parameters}):", *(f"    {one}" for one in body)]

    def call() -> list[str]:
        name = draw(st.sampled_from(sorted(functions)))
        # Only the optimizer's own model may be updated with it.
        model = "net" if "opt" in functions[name] else draw(st.sampled_from(("net", "other")))
        rest = {"v": "", "v, net": f", {model}", "v, net, opt": ", net, opt"}[functions[name]]
        shape = draw(st.integers(0, 3))
        if shape == 0:
            return [f"y = {name}(x{rest})"]
        if shape == 1:
            return [f"losses.append({name}(x{rest}))"]
        if shape == 2:
            return ["for _ in range(3):", f"    losses.append({name}(x{rest}))"]
        return [f"y = jax.tree.map(lambda u: u * 2, {name}(x + 1{rest}))"]

    for _ in range(draw(st.integers(1, 4))):
        lines += call() if draw(st.booleans()) else [draw(st.sampled_from(BETWEEN))]
    lines += call()
    change = draw(st.sampled_from(CHANGES))
    return Case("generated", "", SETUP, "\n".join(lines) + "\n", "", change, AFTER)
