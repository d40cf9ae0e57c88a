# One reading of the clock in a block is a date.
# silent: trace_time_side_effect

# %% setup
import time, jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
made = time.time()
y = jnp.sin(x)
