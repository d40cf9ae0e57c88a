# A random number inside a larger expression of a block is a constant of it, too.
# fires: trace_time_side_effect line 2

# %% setup
import jax.numpy as jnp
import random
x = jnp.arange(3.0)

# %% cell
y = x + random.random()
