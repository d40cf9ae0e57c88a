# A static iterator moves on with every run, as in plain Python.
# compiles: 1 1

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)
numbers = iter([2, 5, 7])

# %% cell
y = x * next(numbers)

# %% after
rest = list(numbers)
