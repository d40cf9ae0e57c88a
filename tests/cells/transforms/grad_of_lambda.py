# A gradient inside the cell, through a lambda that closes over traced names.
# compiles: 1 0

# %% setup
import jax
import jax.numpy as jnp
w = jnp.arange(3.0)
x = jnp.ones(3)

# %% cell
g = jax.grad(lambda p: ((p * x) ** 2).sum())(w)
h = jax.hessian(lambda p: (p ** 3).sum())(w)

# %% change
x = x * 3
