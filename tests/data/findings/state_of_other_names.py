# A donation of the state deletes the array of another name.
# silent: missed_donation

# %% setup
import jax, jax.numpy as jnp
w = jnp.ones((600, 600))

# %% cell
@jax.jit
def step(state):
    return state[0] * 0.9, state[1] + 1

state = (w, jnp.float32(0))
for _ in range(3):
    state = step(state)
