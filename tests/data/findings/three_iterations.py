# A loop of three iterations.
# silent: unrolled_loop

# %% setup
import jax.numpy as jnp
x = jnp.arange(8.0)

# %% cell
s = x
for k in range(3):
    s = jnp.linalg.norm(s) + jnp.sin(s) * jnp.cos(s) - x
s
