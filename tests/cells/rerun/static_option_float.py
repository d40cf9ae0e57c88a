# `-s` makes a float static: it can decide a branch and stays a float.
# compiles: 1 1

# %% setup
import jax.numpy as jnp
x = jnp.arange(6.0)
rate = 0.5

# %% cell -s rate
if rate > 0.1:
    y = x * rate
else:
    y = x
double = rate * 2

# %% change
rate = 0.01
