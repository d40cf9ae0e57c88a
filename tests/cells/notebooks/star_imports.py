# A star-import in the cell binds everything that the module exports.

# %% setup
import jax.numpy as jnp
x = jnp.ones(3)

# %% cell
from math import *
from string import ascii_lowercase as letters
area = pi * floor(2.7)
y = x * area
initials = letters[:3]

# %% change
x = x * 2
