# The argument of the logarithm is guarded, too.
# silent: nan_gradient

# %% setup
import jax, jax.numpy as jnp
p = jnp.arange(8.0)

# %% cell
def entropy(p):
    safe = jnp.where(p > 0, p, 1.0)
    return -jnp.sum(jnp.where(p > 0, p * jnp.log(safe), 0.0))

g = jax.grad(entropy)(p)
