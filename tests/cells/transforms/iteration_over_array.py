# Iterating over a traced array goes row by row.
# compiles: 1 0

# %% setup
import jax.numpy as jnp
x = jnp.arange(6.0).reshape(3, 2)

# %% cell
rows = [r * i for i, r in enumerate(x)]
pairs = list(zip(x, rows))
a, b, c = x
n = len(x)

# %% change
x = x + 1
