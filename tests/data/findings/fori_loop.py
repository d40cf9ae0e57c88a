# jax.lax.fori_loop is not unrolled.
# silent: unrolled_loop

# %% setup
import jax, jax.numpy as jnp
x = jnp.arange(8.0)

# %% cell
s = jax.lax.fori_loop(0, 100, lambda i, s: jnp.sin(s) + x, x)
s
