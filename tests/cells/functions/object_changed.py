# An object whose attribute changes between two calls.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)
from types import SimpleNamespace
settings = SimpleNamespace(scale=2)

# %% cell
def f(v): return v * settings.scale

a = f(x)
settings.scale = 4
b = f(x)

# %% change
settings.scale = 6
