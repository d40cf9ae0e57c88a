# A name bound by the first run keeps its value when the second run does not reach its assignment.
# compiles: 1 1

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)
deep = True

# %% cell
if deep:
    hidden = x * 2
y = x - 1

# %% change
deep = False
x = x + 10

# %% after
z = hidden + y
