# What a helper closes over is changed between the runs.
# compiles: 1 1

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

def make():
    factor = 2.0
    def times(v):
        return v * factor
    def retune(k):
        nonlocal factor
        factor = k
    return times, retune

times, retune = make()

# %% cell
y = times(x)

# %% change
retune(7.0)
