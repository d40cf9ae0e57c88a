# What an array can be asked by name is what it can be asked in plain Python.

# %% setup
import jax.numpy as jnp
x = jnp.ones((2, 3))

# %% cell
known = [n for n in ("shape", "dtype", "ndim", "T", "at", "sum", "size", "nbytes", "itemsize",
                     "real", "weak_type", "mT", "aval", "astype", "copy") if hasattr(x, n)]
total = getattr(x, "sum")()
missing = getattr(x, "nothing", "default")
n_bytes = x.nbytes, x.itemsize, x.size, len(x)
cp = x.copy()
