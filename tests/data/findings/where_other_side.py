# The root is the case that is taken at 0.
# silent: nan_gradient

# %% setup
import jax, jax.numpy as jnp
x = jnp.arange(1.0, 9.0)

# %% cell
g = jax.grad(lambda x: jnp.sum(jnp.where(x < 4, jnp.sqrt(x), x)))(x)
