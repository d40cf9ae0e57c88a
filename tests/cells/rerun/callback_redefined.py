# A host function that is defined anew between the runs is the one that is called.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

def host(v):
    return np.asarray(v) * 2

# %% cell
y = jax.pure_callback(host, jax.ShapeDtypeStruct((3,), jnp.float32), x)

# %% change
def host(v):
    return np.asarray(v) + 100
