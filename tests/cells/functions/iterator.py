# A function that advances an iterator, as a global and as an argument.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)
numbers, other = iter(range(9)), iter(range(9))

# %% cell
def take(v): return v * next(numbers)
def pull(it, v): return v * next(it)

rows = [take(x), take(x), pull(other, x), pull(other, x)]
left = list(numbers), list(other)

# %% change
numbers, other = iter(range(3)), iter(range(3))
