# A clock read inside a jitted function measures tracing.
# fires: trace_time_side_effect line 3

# %% setup
import time, jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell --decorate
def f(x):
    start = time.perf_counter()
    y = jnp.sin(x)
    return y, time.perf_counter() - start

y, seconds = f(x)
