# A `jax.tree_util.Partial` is a pytree and may hold a traced value.
# expect: same or refused "trac"

# %% setup
import jax
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
scale = jax.tree_util.Partial(jnp.multiply, x * 2)

# %% change
x = x + 1

# %% after
z = x + 1
