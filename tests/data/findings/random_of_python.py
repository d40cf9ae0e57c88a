# The same with Python's random module.
# fires: trace_time_side_effect line 4

# %% setup
import jax.numpy as jnp
import random
x = jnp.arange(3.0)

# %% cell --decorate
def f(x):
    y = x * 2
    return y * random.random()

y = f(x)
