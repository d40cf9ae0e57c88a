# A helper is defined anew between the runs.
# compiles: 1 1

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

def act(v):
    return v * 2

# %% cell
y = act(x)

# %% change
def act(v):
    return v + 100
