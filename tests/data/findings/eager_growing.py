# Arrays that grow in a loop compile in every iteration.
# fires: eager line 7

# %% setup
import jax, jax.numpy as jnp

# %% cell
def scale(x):
    return x * 2

x = scale(jnp.arange(41.0))
while len(x) < 60:
    x = jnp.concatenate([x, jnp.ones(1)])
