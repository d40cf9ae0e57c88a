# Random numbers drawn outside of the compiled function are arguments of it.
# silent: trace_time_side_effect

# %% setup
import numpy as np, jax.numpy as jnp

# %% cell
def f(x):
    return x * 2

x = np.random.randn(3).astype(np.float32)
y = f(x)
