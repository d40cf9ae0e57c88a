# A quotient of two different exponentials.
# silent: exp_overflow

# %% setup
import jax.numpy as jnp
x, z = jnp.arange(8.0), jnp.ones(8)

# %% cell
p = jnp.exp(x) / jnp.sum(jnp.exp(-z))
