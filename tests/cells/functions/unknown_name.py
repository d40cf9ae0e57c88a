# A function that reads a name that does not exist.
# expect: fails NameError "nowhere"

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
def f(v): return v * nowhere

y = f(x)
