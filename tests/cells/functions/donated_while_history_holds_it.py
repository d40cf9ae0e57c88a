# A donated argument that a list holds too: that call runs as plain Python, and the list stays alive.

# %% setup
import jax.numpy as jnp
x, history = jnp.arange(3.0), []

# %% cell -d v
def step(v):
    return v * 2

x = step(x)
for _ in range(3):
    x = step(x)
    history.append(x)

# %% change
x = x + 1

# %% after
total = sum(h.sum() for h in history)
