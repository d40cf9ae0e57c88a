# The order of keys of a dictionary argument.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
def f(d): return {k: v * i for i, (k, v) in enumerate(d.items())}

y = f({"a": x, "b": x})
z = f({"b": x, "a": x})

# %% change
x = x + 1
