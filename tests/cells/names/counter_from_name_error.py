# `try: n += 1; except NameError: n = 0` starts on the first run and counts on the second.
# compiles: 1 0

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
try:
    count += 1
except NameError:
    count = 0
y = x * 2

# %% after
count += 1
