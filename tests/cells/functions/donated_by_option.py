# A function whose argument is donated, called in a loop.

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell -d v
def step(v):
    return v * 2

for _ in range(4):
    x = step(x)

# %% change
x = jnp.arange(3.0) + 1

# %% after
y = x + 1
