# The `else` of a loop runs if there was no `break`.
# compiles: 1 1

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)
stop = 2

# %% cell
for i in range(4):
    if i == stop:
        found = x * i
        break
else:
    found = None
    missing = x + 100
y = x + i

# %% change
stop = 9
