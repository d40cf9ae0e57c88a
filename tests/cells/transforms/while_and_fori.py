# Loops of lax.
# compiles: 1 0

# %% setup
import jax
import jax.numpy as jnp
x = jnp.asarray(3.0)
n = jnp.asarray(4)

# %% cell
y = jax.lax.while_loop(lambda v: v < 100, lambda v: v * 2, x)
z = jax.lax.fori_loop(0, n, lambda i, v: v + i, x)

# %% change
n = jnp.asarray(6)
