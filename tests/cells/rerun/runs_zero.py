# `-n 0` compiles, runs nothing and writes nothing.
# expect: unchanged

# %% setup
import jax.numpy as jnp
x = jnp.arange(8.0)
count = 0

# %% cell -n 0
count += 1
x = x + 1
y = x * 2

# %% after
z = x + count
