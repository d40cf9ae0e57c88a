# The same, donated.
# silent: missed_donation

# %% setup
import jax, jax.numpy as jnp
w, m = jnp.ones((600, 600)), jnp.zeros((600, 600))

# %% cell
def update(w, m):
    m = 0.9 * m + w
    return w - 0.1 * m, m

step = jax.jit(update, donate_argnames=("w", "m"))
for _ in range(3):
    w, m = step(w, m=m)
