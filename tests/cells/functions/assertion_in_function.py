# An assertion that fails in the function.
# expect: fails AssertionError "three"

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
def f(v):
    assert v.shape == (4,), "three"
    return v

y = f(x)
