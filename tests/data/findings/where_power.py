# The gradient of a power below 1.
# fires: nan_gradient line 2

# %% setup
import jax, jax.numpy as jnp
x = jnp.arange(8.0)

# %% cell
g = jax.grad(lambda x: jnp.sum(jnp.where(x > 0, x ** 0.3, 0.0)))(x)
