# A function that makes functions.

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell --only apply
def make(k):
    def times(v):
        return v * k
    return times

def apply(v):
    return make(2)(v)

y = apply(x)
triple = make(3)

# %% change
x = x + 1

# %% after
z = triple(x)
