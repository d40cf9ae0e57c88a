# A comparison of the loss on every step waits for it; the function is jitted by its name.
# fires: host_transfer line 9

# %% setup
import jax, jax.numpy as jnp
x = jnp.arange(8.0)

# %% cell --decorate
def update(w):
    return w * 0.9, jnp.sum(w ** 2)

best, w = 1e9, x
step = jax.jit(update)
for i in range(3):
    w, loss = step(w)
    if loss < best:
        best = loss
