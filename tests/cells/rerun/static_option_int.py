# `-s` may name an int that is static anyway.
# compiles: 1 1

# %% setup
import jax.numpy as jnp
x = jnp.arange(6.0)
n = 3

# %% cell -s n
y = x * n
double = n * 2

# %% change
n = 5
