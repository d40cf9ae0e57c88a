# A list gets each old value in the loop, so none can be donated.
# silent: missed_donation

# %% setup
import jax, jax.numpy as jnp
w = jnp.ones((600, 600))

# %% cell
def update(w, g):
    return w - 0.1 * g

history = []
for _ in range(3):
    history += [w]
    w = update(w, 1.0)
