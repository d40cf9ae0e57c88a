# Two readings in a block measure the tracing of it.
# fires: trace_time_side_effect line 2

# %% setup
import time, jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
start = time.perf_counter()
y = jnp.sin(x)
took = time.perf_counter() - start
