# A function of the math module on a traced float: the error says to make it static.
# expect: refused "-s angle"
# line: 3

# %% setup
import math
import jax.numpy as jnp
angle = 0.5

# %% cell
y = jnp.sin(angle)
z = math.sin(angle)

# %% after
w = math.sin(angle)
