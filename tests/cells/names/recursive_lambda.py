# A lambda that calls itself by its global name.
# compiles: 1 0

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
power = lambda v, n: v if n == 1 else v * power(v, n - 1)
y = power(x, 3)

# %% change
x = x + 1

# %% after
z = power(x, 2)
