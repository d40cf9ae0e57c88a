# The gradient of a root that `where` discards.
# fires: nan_gradient line 3

# %% setup
import jax, jax.numpy as jnp
x = jnp.arange(8.0)

# %% cell
def length(x):
    return jnp.sum(jnp.where(x > 0, jnp.sqrt(x), 0.0))

g = jax.grad(length)(x)
