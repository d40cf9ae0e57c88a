# `-s` takes several names.
# compiles: 1 1

# %% setup
import jax.numpy as jnp
x = jnp.arange(6.0)
low, high = 0.5, 2.5

# %% cell -s low,high
y = jnp.where((x > low) & (x < high), x, 0) if low < high else x

# %% change
low = 3.0
