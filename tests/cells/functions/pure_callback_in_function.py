# jax.pure_callback from a function.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
def host(v): return np.sin(v).astype(np.float32)
def f(v): return jax.pure_callback(host, jax.ShapeDtypeStruct(v.shape, v.dtype), v) * 2

y = f(x)

# %% change
x = x + 1
