# A function that reads the environment, and one that writes it.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
import os

def f(v): return v * int(os.environ.get("JAXSCOPE_FACTOR", "2"))

a = f(x)
os.environ["JAXSCOPE_FACTOR"] = "5"
b = f(x)
del os.environ["JAXSCOPE_FACTOR"]
c = f(x)

# %% change
x = x + 1
