# Fetching a result in some iterations is right.
# silent: host_transfer

# %% setup
import jax, jax.numpy as jnp
w = jnp.ones(3)

# %% cell
def step(w):
    return w * 0.9, (w ** 2).sum()

for k in range(3):
    w, value = step(w)
    if k % 2 == 0:
        last = float(value)
