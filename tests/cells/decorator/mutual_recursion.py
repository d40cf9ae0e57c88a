# Two functions that call each other.
# may differ: ping entry-point-becomes-jitted
# may differ: pong entry-point-becomes-jitted

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
