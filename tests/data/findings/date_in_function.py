# The date is that of the trace; the class comes from an earlier cell.
# fires: trace_time_side_effect line 4

# %% setup
import jax, jax.numpy as jnp
from datetime import datetime
x = jnp.arange(8.0)

# %% cell --decorate
@jax.jit
def f(x):
    return x + datetime.now().hour

y = f(x)
