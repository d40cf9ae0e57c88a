# An error after the definitions: what the cell leaves behind is nothing.
# expect: raises RuntimeError "stop here"

# %% setup
import jax.numpy as jnp
x, y = jnp.ones(2), "old"

# %% cell
def f(v):
    return v * 2


y = f(x)
raise RuntimeError("stop here")
