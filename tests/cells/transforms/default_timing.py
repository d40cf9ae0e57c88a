# Without options a program without effects is repeated, and its results are those of one run.

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)
count = 0

# %% cell --no-options
count += 1
x = x * 2
x
