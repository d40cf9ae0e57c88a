# `-t` traces an int: new values compile nothing, results are arrays.
# differs: double argument-becomes-array
# compiles: 1 0

# %% setup
import jax.numpy as jnp
x = jnp.arange(6.0)
n = 3

# %% cell -t n
y = x * n
double = n * 2

# %% change
n = 5
