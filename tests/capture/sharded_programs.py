"""Programs on 8 simulated devices: prints their records as JSON, by name.

Run by test_partition.py in a process of its own, whose XLA_FLAGS ask for 8 CPU devices: their
number is fixed once a backend is up.
"""

import itertools
import json
import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

import jaxscope
from jaxscope.model import to_json

MESH = jax.make_mesh((4, 2), ("data", "model"), axis_types=(AxisType.Auto,) * 2)
EXPLICIT = jax.make_mesh((4, 2), ("data", "model"), axis_types=(AxisType.Explicit,) * 2)
ROLLED = Mesh(np.array(jax.devices()[1:] + jax.devices()[:1]).reshape(4, 2), MESH.axis_names)
REVERSED = Mesh(np.array(jax.devices()[::-1]).reshape(8), ("i",))


def lay(shape, *spec, mesh=MESH):
    return jax.device_put(jnp.ones(shape), NamedSharding(mesh, P(*spec)))


def manual(body, ins, outs, mesh=MESH):
    return jax.shard_map(body, mesh=mesh, in_specs=ins, out_specs=outs, check_vma=False)


CUT = P("data", "model")
X = lay((512, 256), "data", "model")
ROWS = lay((512, 256), "data", None)
ACROSS = lay((512, 256), "model", "data")
WHOLE = lay((512, 256))
W1, W2 = lay((256, 512), None, "model"), lay((512, 128), "model", None)


def partial_sums(a, b):
    return jnp.einsum("ij,jk->ik", a, b, out_sharding=P(None, None, unreduced={"model"}))


def psum(x):
    def body(x):
        return jax.lax.psum(x, "data")  # line: psum

    return manual(body, CUT, P(None, "model"))(x)


def psum_of_neighbours(x):
    return manual(lambda x: jax.lax.psum(x, "model"), CUT, P("data", None), mesh=ROLLED)(x)


def psum_of_both(x):
    return manual(lambda x: jax.lax.psum(x, ("data", "model")), CUT, P())(x)


def all_gather(x):
    def body(x):
        return jax.lax.all_gather(x, "model", axis=1, tiled=True)

    return manual(body, CUT, P("data", None))(x)


def all_to_all(x):
    return manual(lambda x: jax.lax.all_to_all(x, "data", 1, 0, tiled=True), CUT, CUT)(x)


def ppermute(x):
    pairs = [(i, (i + 1) % 4) for i in range(4)]
    return manual(lambda x: jax.lax.ppermute(x, "data", pairs), CUT, CUT)(x)


def reduce_scatter(x):
    def body(x):
        return jax.lax.psum_scatter(x, "model", scatter_dimension=0, tiled=True)

    return manual(body, CUT, P(("data", "model"), None))(x)


def pmax_in_a_loop(x):
    def step(carry, _):
        return jax.lax.pmax(carry, "model") * 0.5, None  # line: pmax

    return manual(lambda x: jax.lax.scan(step, x, None, length=7)[0], CUT, CUT)(x)


def psum_under_grad(x):
    def loss(x):
        return jax.lax.psum((x**2).sum(), ("data", "model"))

    return manual(jax.grad(loss), CUT, CUT)(x)


def mlp(x, w1, w2):
    h = jnp.tanh(x @ w1)
    return h @ w2  # line: contraction


def mlp_gradient(x, w1, w2):
    return jax.grad(lambda w1, w2: (mlp(x, w1, w2) ** 2).mean(), argnums=(0, 1))(w1, w2)


def lies_otherwise(a, b):
    return a + b  # line: add


def beside_a_product(x, w1, w2, skip):
    hidden = jnp.tanh(x @ w1)
    out = hidden @ w2  # line: beside a product
    return out + skip


def beside_a_computed(x, skip):
    return jnp.tanh(x) + skip  # line: skip


def scaled(a, factor):
    return jnp.full(a.shape, factor) * a


def sorted_rows(a):
    return jnp.sort(a, axis=0)  # line: sort


def summed_up(a):
    return jnp.cumsum(a, axis=0)


def looked_up(table, rows):
    return table[rows]


def constrained(a):
    b = a * 2
    return jax.lax.with_sharding_constraint(b, NamedSharding(MESH, P("model", "data"))) + 1


def padded(a):
    b = (a * 2)[:, :13]
    b = jax.lax.with_sharding_constraint(b, NamedSharding(MESH, P(None, "data")))  # line: padded
    return b.sum()


def resharded(a):
    return jax.sharding.reshard(a * 2, P("model", "data")) + 1


def product(x, w):
    return x @ w


def taken_otherwise(a):
    return manual(lambda a: a * 2, P("model", "data"), P("model", "data"))(a)  # line: taken


def partly(a):
    groups = [[0, 1], [2, 3], [4, 5], [6, 7]]
    body = manual(lambda a: jax.lax.psum(a, "i", axis_index_groups=groups), P("i"), P("i"), ONE)
    return body(a)


ONE = jax.make_mesh((8,), ("i",), axis_types=(AxisType.Auto,))


def two_uses(params, x):
    return {"y": x @ params["w"] + params["b"]}


def rows_of_a_product(a, b):
    return jax.pmap(jax.vmap(jnp.vdot, (None, 0)), in_axes=(0, None))(a, b)


def spectral_step(layers, numbers, radii):
    def network(layers, numbers):
        for w, b in layers[:-1]:
            numbers = jax.nn.relu(numbers @ w + b)
        w, b = layers[-1]
        return (numbers @ w + b)[:, 0]

    def loss(layers):
        return jnp.mean((network(layers, numbers) - radii) ** 2)

    value, gradients = jax.lax.pmean(jax.value_and_grad(loss)(layers), "i")
    return value, jax.tree.map(lambda w, g: w - 3e-4 * g, layers, gradients)


SIZES = (8, 64, 64, 64, 1)
LAYERS = [(jnp.ones((m, n)), jnp.ones(n)) for m, n in itertools.pairwise(SIZES)]


def mean_over_devices(x, w):
    return jax.lax.pmean(x * w, "i")


CASES = {
    "psum": (psum, X),
    "psum on a rolled mesh": (
        psum_of_neighbours,
        lay((512, 256), "data", "model", mesh=ROLLED),
    ),
    "psum of both": (psum_of_both, X),
    "all_gather": (all_gather, X),
    "all_to_all": (all_to_all, X),
    "ppermute": (ppermute, X),
    "reduce_scatter": (reduce_scatter, X),
    "loop": (pmax_in_a_loop, X),
    "gradient of psum": (psum_under_grad, X),
    "mlp": (mlp, ROWS, W1, W2),
    "mlp gradient": (mlp_gradient, ROWS, W1, W2),
    "operands": (lies_otherwise, X, ACROSS),
    "alike": (lies_otherwise, X, X),
    "skip": (beside_a_product, ROWS, W1, W2, lay((512, 128), "model", "data")),
    "computed": (beside_a_computed, ROWS, ACROSS),
    "skip alike": (beside_a_product, ROWS, W1, W2, lay((512, 128), "data", None)),
    "scaled": (scaled, X, jnp.float32(3)),
    "sort": (sorted_rows, X),
    "cumsum": (summed_up, X),
    "table": (looked_up, lay((4096, 256), "data", None), jnp.arange(512)),
    "constraint": (constrained, X),
    "out_shardings": (
        jax.jit(lambda a: a * 2, out_shardings=NamedSharding(MESH, P("model", "data"))),
        X,
    ),
    "padded": (padded, X),
    "gathered weights": (product, ROWS, lay((256, 512), "data", None)),
    "replicated": (product, WHOLE, lay((256, 512))),
    "manual": (taken_otherwise, X),
    "backwards": (product, lay((64, 32), "i", None, mesh=REVERSED), lay((32, 8), mesh=REVERSED)),
    "tree": (two_uses, {"w": W1, "b": lay((512,), "model")}, ROWS),
    "pmap": (
        jax.pmap(mean_over_devices, axis_name="i", in_axes=(0, None)),
        jnp.ones((8, 4)),
        jnp.ones(4),
    ),
    "rows of a product": (rows_of_a_product, jnp.ones((8, 64)), jnp.ones((16, 64))),
    "training": (
        jax.pmap(spectral_step, axis_name="i", in_axes=(None, 0, 0), devices=jax.devices()[:2]),
        LAYERS,
        jnp.ones((2, 32, 8)),
        jnp.ones((2, 32)),
    ),
    "groups of an axis": (partly, lay((8, 16), "i", None, mesh=ONE)),
    "one device": (product, jnp.ones((8, 8)), jnp.ones((8, 8))),
}


def main() -> None:
    records = {}
    for name, (function, *arguments) in CASES.items():
        with jaxscope.options(runs=1 if name == "mlp" else 0):
            report = jaxscope.inspect(function, *arguments)
        records[name] = to_json(report.record)
    with jax.set_mesh(EXPLICIT):
        explicit = lay((512, 256), "data", "model", mesh=EXPLICIT)
        with jaxscope.options(runs=0):
            records["explicit"] = to_json(jaxscope.inspect(resharded, explicit).record)
            halves = lay((8, 4), None, "model", mesh=EXPLICIT), lay((4, 8), "model", mesh=EXPLICIT)
            records["unreduced"] = to_json(jaxscope.inspect(partial_sums, *halves).record)
    json.dump(records, sys.stdout)


if __name__ == "__main__":
    main()
