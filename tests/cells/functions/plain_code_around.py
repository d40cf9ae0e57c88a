# The code around the functions is plain Python: in-place changes, floats, conditions on values.

# %% setup
import jax.numpy as jnp
w = jnp.asarray(4.0)
losses = []

# %% cell
def step(p):
    return p * 0.5

for epoch in range(5):
    w = step(w)
    losses.append(float(w))
    if w < 1:
        break
message = f"{losses[-1]:.3f}"

# %% change
w = jnp.asarray(100.0)
