# try, except, else and finally around calls.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
def f(v, w): return v @ w

log = []
try:
    y = f(x, x)
except TypeError:
    log.append("type")
else:
    log.append("fine")
finally:
    log.append("done")
try:
    z = f(x, jnp.ones((4, 4)))
except TypeError as error:
    log.append(type(error).__name__)

# %% change
x = x + 1
