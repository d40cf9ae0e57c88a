# A cell of definitions: later cells use plain functions.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
def hessian(f): return jax.jacfwd(jax.grad(f))
def apply(f, *args): return f(*args)

# %% change
x = x + 1

# %% after
h = hessian(lambda v: (v ** 3).sum())(x)
z = apply(jnp.sin, x)
