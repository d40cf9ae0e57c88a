# An input that the first run bound turns out unused on the second: nothing compiles again.
# compiles: 1 0

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
for i in range(3):
    acc = x * i
y = acc + 1

# %% change
x = x + 1
