# A tuple first, a list later: the program is the same, the result's structure is not.

# %% setup
import jax
import jax.numpy as jnp
tree = (jnp.arange(3.0), jnp.ones(3))

# %% cell
out = jax.tree.map(lambda v: v * 2, tree)

# %% change
tree = {"a": jnp.arange(3.0), "b": jnp.ones(3)}
