# A traced float used as an int: the error says to make it static.
# expect: refused "-s width"
# line: 2

# %% setup
import jax.numpy as jnp
width = 3.0
x = jnp.arange(6.0)

# %% cell
y = x[: int(width)]

# %% after
z = width * 2
