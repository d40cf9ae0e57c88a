# One array is two arguments of the call, of which neither can be donated.
# silent: missed_donation

# %% setup
import jax, jax.numpy as jnp
w = jnp.ones((600, 600))

# %% cell
@jax.jit
def update(w, g):
    return w - 0.1 * g

w = update(w, w)
