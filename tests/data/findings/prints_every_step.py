# A text of the loss on every step waits for it.
# fires: host_transfer line 7

# %% setup
import jax.numpy as jnp
x = jnp.arange(8.0)

# %% cell --decorate
def step(w):
    return w * 0.9, jnp.sum(w ** 2)
w = x
for i in range(3):
    w, loss = step(w)
    print(f"{loss:.3f}")
