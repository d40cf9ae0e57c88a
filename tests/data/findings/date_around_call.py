# The date is read where nothing is traced.
# silent: trace_time_side_effect

# %% setup
import jax, jax.numpy as jnp
from datetime import datetime
x = jnp.arange(8.0)

# %% cell --decorate
@jax.jit
def f(x):
    return x + 1

began = datetime.now()
y = f(x)
took = datetime.now() - began
