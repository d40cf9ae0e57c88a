# A factory that makes a step, and the step.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
def make(rate):
    def step(v): return v - rate * v
    return step

slow, fast = make(0.1), make(0.9)
rows = [slow(x), fast(x), make(0.5)(x)]
del slow, fast

# %% change
x = x + 1
