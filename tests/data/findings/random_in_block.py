# NumPy's random numbers in a block are constants, so each run compiles.
# fires: trace_time_side_effect line 2

# %% setup
import numpy as np, jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
noise = np.random.randn(3).astype(np.float32)
y = x + noise
