# An error after the definitions: the cell leaves behind what plain Python leaves.
# expect: fails RuntimeError "stop here"

# %% setup
import jax.numpy as jnp
x, y = jnp.ones(2), "old"

# %% cell
def f(v):
    return v * 2


y = f(x)
raise RuntimeError("stop here")
