# The loop is in a function of a different cell, called once.
# fires: unrolled_loop line 3 source helper

# %% helper
def power(a, n):
    r = a
    for _ in range(n):
        r = jnp.tanh(r @ a)
    return r

# %% setup
import jax.numpy as jnp
a = jnp.eye(4)

# %% cell
y = power(a, 50)
