# The value is that of another name, which a donation would delete.
# silent: missed_donation

# %% setup
import jax, jax.numpy as jnp
w0 = jnp.ones((600, 600))

# %% cell
def update(w, g):
    return w - 0.1 * g

w = w0
w = update(w, 1.0)
