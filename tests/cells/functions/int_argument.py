# An int is static, as in every call, and a Python float is traced.
# differs: z float-becomes-array

# %% setup
import jax.numpy as jnp

# %% cell
def f(n):
    return n * 2

y = f(3)
z = f(1.5)
