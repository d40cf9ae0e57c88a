# Infinite floats and NaN are traced like others.
# compiles: 1 0

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)
low, high, gap = float("-inf"), float("inf"), float("nan")

# %% cell
y = jnp.clip(x, low, high)
z = jnp.where(x > 1, gap, x)

# %% change
high = 1.0
