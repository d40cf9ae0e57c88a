# The clock around a call measures the call.
# silent: trace_time_side_effect

# %% setup
import time, jax, jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
def f(x):
    return jnp.sin(x)

start = time.perf_counter()
y = jax.block_until_ready(f(x))
took = time.perf_counter() - start
