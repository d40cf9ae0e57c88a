# The same for a comparison, in a helper of another cell.
# expect: refused "trac"

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

def positive(v):
    try:
        return "yes" if v > 0 else "no"
    except TypeError:
        return "unknown"

# %% cell
answer = positive(x.sum())
y = x * 2

# %% after
z = x + 1
