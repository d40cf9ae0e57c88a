# An exception in a helper of another cell.
# expect: raises ZeroDivisionError "division"
# line: 3

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

def bad(v):
    return v / (v.ndim - 1) if False else 1 // (v.ndim - 1)

# %% cell
y = x * 2
z = bad(y)

# %% after
z = x + 1
