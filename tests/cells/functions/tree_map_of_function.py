# jax.tree.map and tree_reduce over a function of the cell.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)
params = {"w": x, "b": [x * 2, None], "n": 3}

# %% cell
def scaled(v): return v * 0.5
def larger(a, b): return a + b

half = jax.tree.map(scaled, params)
both = jax.tree.map(larger, params, half)
leaves = [scaled(v) for v in jax.tree.leaves(params)]

# %% change
x = x + 1
