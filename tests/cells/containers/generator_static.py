# A generator and an iterator of static values go on in the next cell.
# compiles: 1 0

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
numbers = (i * i for i in range(5))
letters = iter("abc")
y = x * next(numbers) + next(numbers)

# %% change
x = x + 1

# %% after
rest = list(numbers) + list(letters)
