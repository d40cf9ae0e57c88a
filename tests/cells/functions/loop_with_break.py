# Early stopping: break, continue and for-else.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
def loss(v, i): return (v * i).sum()

best, history = None, []
for i in range(5):
    value = float(loss(x, i))
    if i == 1:
        continue
    history.append(value)
    if value > 8:
        break
else:
    best = "never"

# %% change
x = x + 1
