# A block that writes what is known while tracing writes it on every run.
# silent: trace_time_side_effect

# %% setup
import os, jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
y = x * 2
with open(os.devnull, "w") as file:
    file.write(f"shape {y.shape}")
