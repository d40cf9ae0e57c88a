# Nested loops with `continue` and `break` bind what plain Python binds.
# compiles: 1 0

# %% setup
import jax.numpy as jnp
x = jnp.arange(6.0).reshape(2, 3)

# %% cell
total = 0.0
seen = []
for i in range(2):
    for j in range(3):
        if j == 1:
            continue
        if i == 1 and j == 2:
            break
        total = total + x[i, j]
        seen.append((i, j))

# %% change
x = x * 2
