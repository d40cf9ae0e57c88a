# Floats that the cell itself writes or computes from static values stay floats.
# compiles: 1 0

# %% setup
import math
import jax.numpy as jnp
x = jnp.arange(3.0)
n = 4

# %% cell
eps = 1e-6
half = n / 8
root = math.sqrt(2.0) * half
y = x + eps + root

# %% change
x = x + 1
