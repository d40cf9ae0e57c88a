# A cell may bind names that belong to builtins.
# compiles: 1 0

# %% setup
import jax.numpy as jnp
x = jnp.arange(4.0)

# %% cell
n = len(x)
max = x.max()
list = [max, n]
id = "seven"

# %% change
x = x * 2

# %% after
del max, list, id
m = max([1, 2])
