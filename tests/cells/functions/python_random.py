# A function that draws from the random module.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
import random
random.seed(1)
def noise(v): return v + random.random()

rows = [noise(x), noise(x)]
after = random.random()

# %% change
x = x + 1
