# Nested containers as results keep their types and their order.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
import collections
Pair = collections.namedtuple("Pair", "first second")

def f(v): return {"b": [v, (v.sum(), None)], "a": Pair(v, {"z": 1, "y": v * 2})}

rows = f(x)
first = rows["a"].first

# %% change
x = x + 1
