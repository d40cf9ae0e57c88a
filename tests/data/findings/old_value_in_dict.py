# A dict holds the old value too, so it cannot be donated.
# silent: missed_donation

# %% setup
import jax, jax.numpy as jnp
w = jnp.ones((600, 600))

# %% cell
def update(w, g):
    return w - 0.1 * g

before = {"w": w}
w = update(w, 1.0)
