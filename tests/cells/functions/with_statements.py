# Calls under context managers of JAX.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
def f(v): return jnp.dot(v, v)

with jax.named_scope("part"):
    a = f(x)
with jax.default_matmul_precision("highest"):
    b = f(x)
with jax.enable_x64(True):
    c = f(jnp.asarray(x, "float64"))
d = f(x)

# %% change
x = x + 1
