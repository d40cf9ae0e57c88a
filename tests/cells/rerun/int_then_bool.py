# `1` and `True` are equal and yet not the same static value.

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)
flag = 1

# %% cell
y = x * 2 if flag is True else x * 3
kind = type(flag).__name__
z = [flag]

# %% change
flag = True
