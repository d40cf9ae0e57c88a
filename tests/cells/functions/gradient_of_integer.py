# grad of an integer input fails as in plain Python.
# expect: fails TypeError "grad requires"

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
def f(n): return n * 2.0

g = jax.grad(f)(3)
