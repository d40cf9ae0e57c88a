# A walrus inside a comprehension binds at module level, the loop name does not.
# compiles: 1 0

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)
i = "outer"

# %% cell
parts = [(last := x * i) for i in range(3)]
y = last + 1

# %% change
x = x + 1
