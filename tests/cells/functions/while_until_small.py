# A while loop that ends by a value of the function.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
def halve(v): return v / 2

steps, y = 0, x
while float(y.max()) > 0.1:
    y = halve(y)
    steps += 1

# %% change
x = x + 1
