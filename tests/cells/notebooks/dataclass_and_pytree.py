# A frozen dataclass that is registered as a pytree is stepped with `replace` in a loop.

# %% setup
import dataclasses, functools
import jax, jax.numpy as jnp
@functools.partial(jax.tree_util.register_dataclass, data_fields=["w", "b"], meta_fields=["name"])
@dataclasses.dataclass(frozen=True)
class Params:
    w: jax.Array
    b: jax.Array
    name: str = "p"
params = Params(jnp.arange(6.0).reshape(2, 3), jnp.ones(3))
x = jnp.ones((4, 2))

# %% cell
history = []
for epoch in range(3):
    loss = ((x @ params.w + params.b) ** 2).mean()
    params = dataclasses.replace(params, w=params.w - 0.1 * loss, b=params.b * 0.5)
    history.append(loss)
n_params = sum(leaf.size for leaf in jax.tree.leaves(params))
params.name, n_params

# %% change
x = x * 2

# %% after
total = sum(history)
