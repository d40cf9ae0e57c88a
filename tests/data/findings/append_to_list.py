# A jitted function that appends to a list of the module does it once.
# fires: trace_time_side_effect line 3

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)
history = []

# %% cell --decorate
def f(x):
    history.append("f")
    return x * 2

y = f(x)
