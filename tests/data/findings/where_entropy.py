# The gradient of a logarithm, through a product with its argument.
# fires: nan_gradient line 3

# %% setup
import jax, jax.numpy as jnp
p = jnp.arange(8.0)

# %% cell
def entropy(p):
    return -jnp.sum(jnp.where(p > 0, p * jnp.log(p), 0.0))

g = jax.grad(entropy)(p)
