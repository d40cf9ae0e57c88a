# The gradient of a quotient.
# fires: nan_gradient line 2

# %% setup
import jax, jax.numpy as jnp
x = jnp.arange(8.0)

# %% cell
g = jax.grad(lambda x: jnp.sum(jnp.where(x != 0, 1 / x, 0.0)))(x)
