# A loop that stops by its result has to wait for it.
# silent: host_transfer

# %% setup
import jax, jax.numpy as jnp
w = jnp.ones(3)
losses = []

# %% cell
def step(w):
    return w * 0.5, (w ** 2).sum()

for k in range(3):
    w, value = step(w)
    losses.append(float(value))
    if value < 0.5:
        break
