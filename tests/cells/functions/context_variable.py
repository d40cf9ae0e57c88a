# A context variable that a function reads.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
import contextvars

scale = contextvars.ContextVar("scale", default=2.0)
def f(v): return v * scale.get()

a = f(x)
token = scale.set(5.0)
b = f(x)
scale.reset(token)
c = f(x)
del scale, token

# %% change
x = x + 1
