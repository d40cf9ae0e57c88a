# The variable of a `for` statement keeps its last value.
# compiles: 1 0

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)
acc = jnp.zeros(3)

# %% cell
for i in range(4):
    acc = acc + x * i
acc

# %% change
x = x + 1
