# Two functions that call each other.

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
def ping(v, left=()):
    return v if not left else pong(v + 1, left[1:])

def pong(v, left):
    return v if not left else ping(v * 2, left[1:])

y = ping(x, (1, 1, 1))

# %% change
x = x + 1
