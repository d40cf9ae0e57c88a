# A print behind a count waits rarely.
# silent: host_transfer

# %% setup
import jax.numpy as jnp
x = jnp.arange(8.0)

# %% cell --decorate
def step(w):
    return w * 0.9, jnp.sum(w ** 2)
w = x
for i in range(3):
    w, loss = step(w)
    if i % 2 == 0:
        print(f"{loss:.3f}")
