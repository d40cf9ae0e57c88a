# A function that is only defined.

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
def loss(w, v):
    """Squared."""
    return ((w * v) ** 2).sum()

# %% after
y = loss(x, x)
about = loss.__name__, loss.__doc__
