# Lambdas in a dictionary, called in a loop.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
table = {"double": lambda v: v * 2, "square": lambda v: v * v, "sum": lambda v: v.sum()}
rows = {name: f(x) for name, f in table.items()}

# %% change
x = x + 1
