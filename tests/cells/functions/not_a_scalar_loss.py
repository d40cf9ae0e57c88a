# grad of a loss that is no scalar fails as in plain Python.
# expect: fails TypeError "scalar"

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
def f(v): return v * 2

g = jax.grad(f)(x)
