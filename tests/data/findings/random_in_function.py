# NumPy's random numbers become constants of a jitted function.
# fires: trace_time_side_effect line 5

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell --decorate
import numpy as np

def noisy(x):
    return x + np.random.normal(size=3)

y = noisy(x)
