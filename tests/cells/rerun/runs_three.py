# However often the program is timed, its results are those of one run.
# compiles: 1 0

# %% setup
import jax.numpy as jnp
x = jnp.arange(8.0)
count = 0

# %% cell -n 3
count += 1
x = x + 1
print("traced")
