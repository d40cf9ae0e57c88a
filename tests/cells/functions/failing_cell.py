# A failing cell leaves names and containers as plain Python does.
# expect: fails ValueError "stop here"

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)
from types import SimpleNamespace
rows, table, thing = [], {}, SimpleNamespace(z=1)

# %% cell
def f(v): return v * 2

rows.append(f(x))
table["k"] = 1
thing.z = 2
raise ValueError("stop here")

# %% change
x = x + 1

# %% after
rows.append(f(x))
