# An ordered callback with effects happens once for every run of the cell.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import io_callback
log = []

def host(v):
    log.append(float(v))
    return np.float32(len(log))

x = jnp.arange(3.0)

# %% cell
count = io_callback(host, jax.ShapeDtypeStruct((), jnp.float32), x.sum(), ordered=True)
y = x * 2

# %% change
x = x + 1

# %% after
n = len(log)
