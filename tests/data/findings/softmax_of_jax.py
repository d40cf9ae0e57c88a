# JAX's own, and the maximum subtracted by hand.
# silent: exp_overflow

# %% setup
import jax, jax.numpy as jnp
x = jnp.arange(8.0)

# %% cell
p = jax.nn.softmax(x)
e = jnp.exp(x - jnp.max(x))
q = e / jnp.sum(e)
l = jax.nn.logsumexp(x)
