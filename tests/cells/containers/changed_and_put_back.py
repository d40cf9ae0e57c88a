# An input list that the cell changes and puts back.
# expect: same or refused "in place"

# %% setup
import jax.numpy as jnp
stack = [1, 2]
x = jnp.arange(3.0)

# %% cell
stack.append(3)
y = x * stack[-1]
stack.pop()

# %% change
x = x + 1

# %% after
z = x + 1
