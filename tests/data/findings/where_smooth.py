# Functions that have a derivative everywhere.
# silent: nan_gradient

# %% setup
import jax, jax.numpy as jnp
x = jnp.arange(8.0)

# %% cell
a = jax.grad(lambda x: jnp.sum(jnp.where(x > 0, jnp.sin(x), x)))(x)
b = jax.grad(lambda x: jnp.sum(jnp.where(x > 1, jnp.sqrt(x + 1), 0.0)))(x)
