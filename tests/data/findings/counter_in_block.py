# In block form every run traces, so a counter counts runs.
# silent: trace_time_side_effect

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)
count = 0

# %% cell
count += 1
y = x * 2
