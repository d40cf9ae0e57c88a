# The logarithm of what is not differentiated.
# silent: nan_gradient

# %% setup
import jax, jax.numpy as jnp
x = jnp.arange(8.0)
p = jnp.arange(8.0) / 28

# %% cell
def loss(x, p):
    return jnp.sum(p * (jnp.where(p == 0, 0.0, jnp.log(p)) - x))

g = jax.grad(loss)(x, p)
