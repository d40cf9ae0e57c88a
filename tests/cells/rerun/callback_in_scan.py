# A callback in the body of a scan.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np

def host(v):
    return np.asarray(v) * np.float32(2)

x = jnp.arange(3.0)

# %% cell
shape = jax.ShapeDtypeStruct((), jnp.float32)
c, ys = jax.lax.scan(lambda c, v: (jax.pure_callback(host, shape, v) + c, v), 0.0, x)

# %% change
def host(v):
    return np.asarray(v) * np.float32(50)
