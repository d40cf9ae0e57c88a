# Functions composed by another function.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
def compose(*fs):
    def run(v):
        for f in fs:
            v = f(v)
        return v
    return run

def double(v): return v * 2
def shift(v): return v + 1

y = compose(double, shift, jnp.tanh)(x)
z = compose()(x)

# %% change
x = x + 1
