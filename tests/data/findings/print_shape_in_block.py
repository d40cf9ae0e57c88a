# In block form every run traces, so printing a shape does what Python does.
# silent: trace_time_side_effect

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
y = jnp.sin(x)
print("shape", y.shape, len(y))
