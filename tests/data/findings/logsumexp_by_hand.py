# A logarithm of a sum of exponentials.
# fires: exp_overflow line 2

# %% setup
import jax.numpy as jnp
x = jnp.arange(8.0)

# %% cell
y = jnp.log(jnp.sum(jnp.exp(x / 2.0)))
