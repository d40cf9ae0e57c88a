# A comprehension unrolls like a loop.
# fires: unrolled_loop line 3

# %% setup
import jax.numpy as jnp
x = jnp.ones((64, 3, 3))

# %% cell
def norms(x):
    return jnp.stack([jnp.sqrt((m @ m.T).sum()) for m in x])

y = norms(x)
